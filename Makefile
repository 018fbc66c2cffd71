# Every command of the stack: bin/lib/commands.txt says what each does, and `make` alone prints that.
.DEFAULT_GOAL := help
.PHONY: help up down clean status logs doctor reload purge reset mirror backup restore watch trace lessons learn lesson check faults break mend class class-status class-check class-reset class-down bundle slides load soak compare cluster-up cluster-status cluster-down cluster-demo lab bench test test-all lock settings

export LC_ALL := C.UTF-8
unexport CDPATH BASH_ENV SHELLOPTS BASHOPTS POSIXLY_CORRECT # they would change what our shells do

# A command takes the variables that bin/lib/commands.txt names, and the settings of .env.example; another one is refused, because a
# misspelt name would be ignored silently. The commands' variables, such as HOST or TAG, count only where they are typed, and APP
# there or in .env, because many shells export a variable of that name.
typed := $(foreach name,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $(name)))),$(name)))
ifneq ($(typed),)
refusal := $(shell bash bin/lib/typed.sh $(or $(MAKECMDGOALS),help) -- $(typed))
$(if $(refusal),$(error $(refusal)))
endif
arguments := APP $(filter-out EXTRAS THEATRES,$(shell sed -n 's/^    \([A-Z_]*\)=.*/\1/p' bin/lib/commands.txt | sort -u))
$(foreach name,$(arguments),$(if $(filter environment,$(origin $(name))),$(eval unexport $(name))$(eval $(name) :=)))

# `make help load` is about load, and loads nothing.
ifeq ($(firstword $(or $(MAKECMDGOALS),help)),help)
help:
	@bin/help $(filter-out help,$(MAKECMDGOALS))

$(filter-out help,$(MAKECMDGOALS)):
	@:
else
up:
	@bin/up

down:
	@bin/stack down

clean:
	@bin/stack clean

status:
	@bin/stack status

logs:
	@bin/stack logs

trace:
	@bin/trace

watch:
	@bin/watch

doctor:
	@bin/doctor

reload:
	@bin/stack reload

purge:
	@bin/stack purge

reset:
	@bin/stack reset

mirror:
	@bin/mirror

backup:
	@bin/backup

restore:
	@bin/restore

lessons:
	@bin/lesson list

learn:
	@bin/lesson learn $(LESSON)

lesson:
	@bin/lesson $(if $(RESET),reset,begin $(LESSON))

check:
	@die_status=2 bin/lesson check $(LESSON) || { [ $$? = 1 ] && [ "$(LESSON)" != all ]; } # "not done yet" is no error

faults:
	@bin/fault list

break:
	@bin/fault break $(FAULT)

mend:
	@bin/fault mend

class:
	@bin/class open $(N)

class-status:
	@bin/class status

class-check class-page cluster-up cluster-status cluster-down cluster-demo:
	@bin/gone $@

class-reset:
	@bin/class reset $(WHO)

class-down:
	@bin/class down

bundle:
	@bin/bundle

slides:
	@bin/slides

load:
	@bin/stack load

soak:
	@bin/stack soak

compare:
	@LENGTH=$(SECONDS) bin/stack compare # bash counts in its own variable SECONDS

lab:
	@bin/lab $(LAB)

bench:
	@bin/lab all

test:
	@bin/test

test-all:
	@bin/test slow

lock:
	@python3 -m proscenium.lock

settings:
	@python3 -m proscenium.settings
endif
