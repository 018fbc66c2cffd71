#!/bin/sh
# Starts Locust in its container: standalone with its web UI, as the master of workers, or as a worker.
#
# LOADTEST_MASTER=host     a worker of the master on that host
#   LOADTEST_WORKERS=n       master; a headless run waits for n workers
#   LOADTEST_PROCESSES=n     n processes in this container; -1 for one per core, twelve at most, which fit into its memory; ignored
#                            on a master
#
# Further arguments are passed to Locust.
set -eu
cd "$(dirname "$0")"

if [ -n "${LOADTEST_MASTER:-}" ]; then
    set -- --worker --master-host "$LOADTEST_MASTER" "$@"
elif [ -n "${LOADTEST_WORKERS:-}" ]; then
    set -- --master --expect-workers "$LOADTEST_WORKERS" "$@"
    LOADTEST_PROCESSES= # its workers are elsewhere
fi
if [ "${LOADTEST_PROCESSES:-}" = -1 ]; then
    LOADTEST_PROCESSES=$(nproc)
    [ "$LOADTEST_PROCESSES" -le 12 ] || LOADTEST_PROCESSES=12
fi
if [ -n "${LOADTEST_PROCESSES:-}" ]; then set -- --processes "$LOADTEST_PROCESSES" "$@"; fi
exec locust "$@"
