#!/bin/sh
# health.sh COMMAND...: runs a health check in its container: each few seconds until it succeeds, because services start
# in the order of their health, then once a minute, because each check is a new process in a container: some 60 ms
# of the engine's CPU time, beside the check's own.
#
# The engine repeats a check a few seconds after its end, so this script waits before it checks a healthy service again.
# The setting for the same, start_interval, is unknown to engines before 25 and to Podman:
# https://docs.docker.com/reference/compose-file/services/#healthcheck
healthy=/tmp/healthy # in memory, new at every start of the container
if [ -e $healthy ]; then sleep 57; fi
if timeout 5 "$@"; then
    touch $healthy
else
    rm -f $healthy
    exit 1
fi
