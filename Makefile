# Every command of the stack. `make` alone prints this list.
.DEFAULT_GOAL := help
.PHONY: help up down clean status logs doctor reload reset mirror trace load compare lab bench test test-all lock

help: ## print this list
	@awk -F ':.*## ' '/^##@/ { print "\n" substr($$0, 5) } /^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Start and stop
up: ## start the stack and print its addresses (EXTRAS=mirror,... THEATRES="second ...": extras/; MODE=native: no containers)
	@bin/up

down: ## stop it, keep its data
	@bin/stack down

clean: ## stop it and REMOVE its data
	@bin/stack clean

##@ Look
status: ## show the health of each service
	@bin/stack status

logs: ## show the output of every service, until Ctrl-C
	@bin/stack logs

trace: ## follow one request through every log: URL=/media/fox.svg, HEADER='Cookie: who=me'
	@bin/trace

doctor: ## list what this machine lacks, and what to type
	@bin/doctor

##@ Change
reload: ## load the changed nginx and Varnish files without dropping a request
	@bin/stack reload

reset: ## bring every stage back to its start: chat, drawings, avatars; STAGE=demo: that one
	@bin/stack reset

mirror: ## with EXTRAS=mirror: copy now and say which place is active; TO=mirror, TO=backend: switch
	@bin/mirror

##@ Measure
load: ## load the running stack for 30 seconds and judge the run by loadtest/verdict/thresholds.toml
	@bin/stack load

compare: ## compare topologies under the same load: TOPOLOGIES=classic,nginx,default USERS=50 SECONDS=30 STAGE=demo
	@LENGTH=$(SECONDS) bin/stack compare # bash counts in a variable SECONDS of its own

lab: ## rebuild and measure one published experiment: LAB=upstage (labs/README.md lists them)
	@bin/lab $(LAB)

bench: ## run every lab and write a report (FULL=1: as long as in the articles, hours)
	@bin/bench

##@ Develop
test: ## run the tests that a change can break, on a stack of their own (ONLY=static, unit, vtc, images, containers, native, browser, labs)
	@bin/test

test-all: ## run the rest: native mode in full, every lab, newest versions, fuzzing
	@bin/test slow

lock: ## update the Python lock files
	@bin/lock
