#!/bin/sh
# Starts Locust in its container: alone with its web page, as the master of workers, or as one of those.
#
#   LOADTEST_MASTER=host     a worker of the master on that host
#   LOADTEST_WORKERS=n       a master; a headless run waits until so many workers have come
#   LOADTEST_PROCESSES=n     so many processes in this container, -1 for one on each core; not if it is a master
#
# Further arguments go to Locust.
set -eu
cd "$(dirname "$0")"

if [ -n "${LOADTEST_MASTER:-}" ]; then
    set -- --worker --master-host "$LOADTEST_MASTER" "$@"
elif [ -n "${LOADTEST_WORKERS:-}" ]; then
    set -- --master --expect-workers "$LOADTEST_WORKERS" "$@"
    LOADTEST_PROCESSES= # its workers are elsewhere
fi
if [ -n "${LOADTEST_PROCESSES:-}" ]; then set -- --processes "$LOADTEST_PROCESSES" "$@"; fi
exec locust "$@"
