# Every command of the house. `make` alone prints this list.
.DEFAULT_GOAL := help

.PHONY: help up down clean status logs doctor reload trace load lab bench test test-all lock

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

up: ## open the house and print where to look (MODE=native: without containers)
	@bin/up

down: ## close it, keep its data
	@bin/house down

clean: ## close it and REMOVE its data
	@bin/house clean

status: ## which services run, and how they are
	@bin/house status

logs: ## what they say, until Ctrl-C
	@bin/house logs

doctor: ## what this machine lacks, and what to type
	@bin/doctor

reload: ## new nginx and Varnish configuration, without a dropped request
	@bin/house reload

trace: ## follow one request through the house: URL=/media/fox.svg, HEADER='Cookie: who=me'
	@bin/trace

load: ## fill the open house for 30 seconds and judge it by loadtest/thresholds.toml
	@bin/house load

lab: ## rebuild one published experiment and measure it: LAB=upstage (labs/README.md lists them)
	@bin/lab $(LAB)

bench: ## the tour over all labs, with a report to look at (FULL=1: as long as the articles took, hours)
	@bin/bench

test: ## what a change can break, on a stack of its own (ONLY=static, unit, vtc, images, containers, native, browser, labs)
	@bin/test

test-all: ## the rest: native mode in full, every lab, newest versions, fuzzing
	@bin/test slow

lock: ## resolve the Python requirements anew
	@bin/lock
