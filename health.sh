#!/bin/sh
# health.sh COMMAND...: runs a health check in its container. The engine repeats it a second after
# its end. Until the first success it checks once: a service starts once those it depends on are healthy. Then
# it keeps running, checks every 20 seconds, and ends at the first failure or after ten minutes: a new process
# in a container costs some 150 ms of the engine's CPU time, a check 10 to 60.
#
# The setting for frequent checks at the start, start_interval, is unknown to engines before 25:
# https://docs.docker.com/reference/compose-file/services/#healthcheck
#
# The mark of a success is in memory. It is absent while this script runs, so the first check after `docker
# pause` is immediate, and the engine soon calls the service healthy again.
mark=/tmp/healthy
check() {
    timeout 5 "$@" && return
    [ $? != 124 ] || echo "no answer within 5 s: $*"
    return 1
}

if ! rm $mark 2>/dev/null; then
    check "$@" || exit 1
    touch $mark || true # with a full /tmp the service is healthy, and is checked each second
    exit 0
fi
checks=30
while [ $checks -gt 0 ]; do
    sleep 20
    check "$@" || exit 1
    checks=$((checks - 1))
done
