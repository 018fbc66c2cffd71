#!/bin/sh
# run.sh SERVICE: runs that service's program for supervisord, as compose.yaml does in a container. The addresses come
# from addresses.env. run.sh SERVICE COMMAND...: another command of a backend, such as healthcheck.
set -eu
service=$1
shift
[ $# -gt 0 ] || set -- serve

# backend NAME ADDRESS COMMAND...: runs a command of an UpStage server with sockets and an address of its own.
backend() {
    export PYTHONPATH=backend/src UPSTAGE_SOCKETS="$SOCKETS/$1/upstage" \
        UPSTAGE_WEB_ENDPOINT="tcp:8081:interface=$2" UPSTAGE_METRICS_ENDPOINT="tcp:9110:interface=$2" \
        UPSTAGE_STAGE_ENDPOINT="haproxy:tcp:7230:backlog=1024:interface=$2"
    [ "$1" = backend ] || unset UPSTAGE_FTP_ENDPOINT # one of them opens the FTP port
    shift 2
    exec .venv/bin/python -m upstage "$@"
}

case $service in
backend) backend backend "$NATIVE_NET.3" "$@" ;;
camera)
    export PYTHONPATH=backend/src
    exec .venv/bin/python -m upstage.camera
    ;;
policyd)
    export PYTHONPATH=policyd/src
    exec .venv/bin/python -m policyd --host "$NATIVE_NET.4" --port 3000 --unix "$SOCKETS/policyd/policyd.sock" --file policyd/flashpolicy.xml \
        --max-connections 2048 --max-per-address 2000 # as in compose.yaml
    ;;
varnish) exec sh "$NATIVE_RUN/varnish/start.sh" ;;
nginx) PATH=$PWD/native/bin:$PATH exec sh nginx/start.sh ;;
locust) PATH=$PWD/.venv/bin:$PATH exec sh loadtest/start.sh ;;
*) # a theatre
    export UPSTAGE_DATA="$NATIVE_DATA/$service-upstage" UPSTAGE_MEDIA="$NATIVE_DATA/$service-media"
    number=11
    for name in $THEATRES; do
        [ "$name" != "$service" ] || break
        number=$((number + 1))
    done
    backend "$service" "$NATIVE_NET.$number" "$@"
    ;;
esac
