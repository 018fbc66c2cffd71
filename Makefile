# Every command of the stack. `make` alone prints this list.
.DEFAULT_GOAL := help
.PHONY: help up down clean status logs doctor reload purge reset mirror backup restore watch trace lessons learn lesson check faults break mend class class-status class-page class-check class-reset class-down bundle slides load soak compare cluster-up cluster-status cluster-down cluster-demo lab bench test test-all lock settings

export LC_ALL := C.UTF-8
unexport CDPATH BASH_ENV SHELLOPTS BASHOPTS POSIXLY_CORRECT # they would change what our shells do

# A command takes the variables that its line below names, and the settings of .env.example; another one is refused, because a
# misspelt name would be ignored silently. Those of the commands, such as HOST or TAG, count only where they are typed, and APP
# there or in .env: many a shell exports one for itself.
typed := $(foreach name,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $(name)))),$(name)))
ifneq ($(typed),)
refusal := $(shell bash bin/lib/typed.sh $(or $(MAKECMDGOALS),help) -- $(typed))
$(if $(refusal),$(error $(refusal)))
endif
arguments := APP KEEP $(filter-out EXTRAS THEATRES,$(shell grep -E '^[a-z-]+:.*\#\#' Makefile | grep -oE '\<[A-Z_]+=' | tr -d =))
$(foreach name,$(arguments),$(if $(filter environment,$(origin $(name))),$(eval unexport $(name))$(eval $(name) :=)))

help: ## print this list
	@awk -F ':.*## ' '/^##@/ { print "\n" substr($$0, 5) } /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

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

trace: ## follow one request through every log: URL=/media/fox.svg, HEADER='Cookie: who=me'; ID=...: an earlier one
	@bin/trace

watch: ## one line for each request as it happens: what answered, and why not from the cache (HOST=, VISITOR=stranger, WORD=: only those)
	@bin/watch

doctor: ## list what this machine lacks, and what to type
	@bin/doctor

##@ Change
reload: ## load changed nginx and Varnish files and a renewed certificate without dropping a request; restart a changed Locust
	@bin/stack reload

purge: ## drop a path from the cache (URL=/media/fox.svg), everything with a tag (TAG=medium-fox-svg; TAG=media), or all (ALL=1)
	@bin/stack purge

reset: ## bring every stage back to its start: chat, drawings, avatars; STAGE=demo: only that one
	@bin/stack reset

mirror: ## with EXTRAS=mirror: say which server is active; TO=mirror, TO=backend: move all users there, with all data
	@bin/mirror

backup: ## write all data of UpStage into one file below backups/, while it runs (FILE=: this file; THEATRE=second: that one's data)
	@bin/backup

restore: ## replace all data of UpStage by those of the newest backup, or of FILE=..., and keep what was there (THEATRE=second; REMOVE=replaced: only remove what was kept)
	@bin/restore

##@ Learn
lessons: ## list the lessons and what is done
	@bin/lesson list

learn: ## do the lessons in one window, which watches and checks by itself (LESSON=3: this one)
	@bin/lesson learn $(LESSON)

lesson: ## begin a lesson, or go on with it: LESSON=3 (AGAIN=1: from the start; RESET=1: restore the shipped configuration, keep yours as a patch)
	@bin/lesson $(if $(RESET),reset,begin $(LESSON))

check: ## say whether LESSON=3 is done, or what is missing; ANSWER=b answers its question (LESSON=all: results, JSON=1)
	@die_status=2 bin/lesson check $(LESSON) || { [ $$? = 1 ] && [ "$(LESSON)" != all ]; } # "not done yet" is no error

##@ Break
faults: ## list what can be broken on purpose (faults/README.md)
	@bin/fault list

break: ## break the running stack: FAULT=backend-killed, or FAULT=drawn for one that you do not know
	@bin/fault break $(FAULT)

mend: ## undo what make break has done
	@bin/fault mend

##@ Teach
class: ## open stacks for a class on this machine: N=20 (docs/teaching-class.md)
	@bin/class open $(N)

class-status: ## show each copy's health and the lessons that are done (CSV=1: each lesson of each copy, for grading)
	@bin/class status

class-page: ## serve a page for the projector: who is at which lesson, and for how long, until Ctrl-C
	@bin/class page

class-check cluster-up cluster-status cluster-down cluster-demo:
	@bin/gone $@

class-reset: ## restore the copy WHO=7 as shipped: files, data, lessons; its passwords stay
	@bin/class reset $(WHO)

class-down: ## close the class: remove its stacks and their DATA, set the learners' files aside
	@bin/class down

bundle: ## write one archive that opens the stack on a machine without internet: images, Python packages, repository
	@bin/bundle

slides: ## write the slides and the cheat sheet to .run/slides, as a page and as PDFs (docs/teaching.md)
	@bin/slides

##@ Measure
load: ## load the running stack with USERS=20, SPAWN=10 more a second, for TIME=30s, and judge the run (CLASSES=Reader: these users; ARRIVALS=4: visits a second, whether or not earlier ones have ended; CRAWL=300: requests a second by crawlers with CRAWL_ADDRESSES=1000, ROBOTS=obey; EXAMPLE=01: loadtest/README.md)
	@bin/stack load

soak: ## load the running stack for MINUTES=30 with USERS=30, and judge whether memory, descriptors or latency grow
	@bin/stack soak

compare: ## compare topologies under the same load: TOPOLOGIES=classic,nginx,default USERS=50 SECONDS=30 STAGE=demo, ARRIVALS=4: also these visits a second; PATHS=file: your own application
	@LENGTH=$(SECONDS) bin/stack compare # bash counts in its own variable SECONDS

lab: ## rebuild and measure one published experiment: LAB=upstage (labs/README.md lists them; FULL=1); PUBLISH=1 replaces its results.md
	@bin/lab $(LAB)

bench: ## run every lab and write its tables (FULL=1: as long as in the articles, hours; PUBLISH=1: labs/README.md)
	@bin/lab all

##@ Develop
test: ## run the tests that a change can break, on their own stack (ONLY=static,unit: these parts; SECOND_CHANCE=yes; tests/README.md)
	@bin/test

test-all: ## run the rest, before a change is finished: ONLY=labs,lessons: these parts; CONTINUE=1: those that have not passed; SECOND_CHANCE=yes
	@bin/test slow

lock: ## update the Python lock files
	@bin/lock

settings: ## write what is made from settings.toml (.env.example, table.sh, READMEs) and from the list of nginx's sites
	@python3 -m proscenium.settings
