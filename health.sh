#!/bin/sh
# health.sh COMMAND...: runs a health check in its container. The engine repeats it a second after its end. Until the first
# success it checks once: services start in the order of their health. Then it stays and checks every 20 seconds, and
# ends at the first failure or after ten minutes: a new process in a container costs some 150 ms of the engine's CPU time,
# a check 10 to 60.
#
# The setting for frequent checks at the start, start_interval, is unknown to engines before 25:
# https://docs.docker.com/reference/compose-file/services/#healthcheck
mark=/tmp/healthy # in memory, so each start of the container begins without it
check() { timeout 5 "$@"; }

if ! [ -e $mark ]; then
    check "$@" || exit 1
    touch $mark || true # /tmp is full: the service is healthy, and checked each second
    exit 0
fi
checks=30
while [ $checks -gt 0 ]; do
    sleep 20
    if ! check "$@"; then
        rm -f $mark
        exit 1
    fi
    checks=$((checks - 1))
done
