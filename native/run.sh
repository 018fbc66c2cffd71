#!/bin/sh
# run.sh SERVICE: runs that service's program for supervisord, as compose.yaml does in a container. The addresses come
# from addresses.env. A theatre has its loopback address as a second argument.
set -eu

# backend NAME ADDRESS: an UpStage server with sockets and an address of its own.
backend() {
    export PYTHONPATH=backend/src UPSTAGE_SOCKETS="$NATIVE_SOCKETS/$1" \
        UPSTAGE_WEB_ENDPOINT="tcp:8081:interface=$2" UPSTAGE_METRICS_ENDPOINT="tcp:9110:interface=$2" \
        UPSTAGE_STAGE_ENDPOINT="haproxy:tcp:7230:backlog=1024:interface=$2"
    [ "$1" = backend ] || unset UPSTAGE_FTP_ENDPOINT # one of them opens the FTP port
    exec .venv/bin/python -m upstage serve
}

case $1 in
backend) backend backend "$NATIVE_NET.3" ;;
mirror) backend mirror "$NATIVE_NET.5" ;;
camera)
    export PYTHONPATH=backend/src
    exec .venv/bin/python -m upstage.camera
    ;;
policyd)
    export PYTHONPATH=policyd/src
    exec .venv/bin/python -m policyd --host "$NATIVE_NET.4" --port 3000 --file policyd/flashpolicy.xml
    ;;
varnish) exec sh "$NATIVE_RUN/varnish/start.sh" ;;
nginx) PATH=$PWD/native/bin:$PATH exec sh nginx/start.sh ;;
locust) PATH=$PWD/.venv/bin:$PATH exec sh loadtest/start.sh ;;
*)
    export UPSTAGE_DATA="$NATIVE_DATA/$1-upstage" UPSTAGE_MEDIA="$NATIVE_DATA/$1-media"
    backend "$1" "$2"
    ;;
esac
