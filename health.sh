#!/bin/sh
# health.sh COMMAND...: runs a health check in its container: each second until it succeeds, because services start
# in the order of their health, then once a minute, because each check is a new process in a container: some 60 ms
# of the engine's CPU time, beside the check's own.
#
# The engine repeats a check a second after its end, so this script waits before it checks a healthy service again.
# The setting for the same, start_interval, is unknown to engines before 25:
# https://docs.docker.com/reference/compose-file/services/#healthcheck
#
# The mark of a success is in memory, new at every start of the container. It is away while this waits, so the first check
# after an interruption, such as `docker pause`, does not.
mark=/tmp/healthy
if rm $mark 2>/dev/null; then sleep 57; fi
timeout 5 "$@" || exit 1
touch $mark || true # /tmp is full: the service is healthy, and checked each second
