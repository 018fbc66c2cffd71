#!/usr/bin/env bash
# room.sh FOLDER COMMAND...: runs the command as on a machine that no network reaches, with an empty container engine of
# its own that keeps everything in FOLDER. Needs root.
set -euo pipefail
folder=$1
if [ -z "${INSIDE:-}" ]; then
    # Namespaces of its own: only a loopback interface, no route, and the other engine's networks out of sight.
    INSIDE=yes exec unshare --net --mount --propagation private "$0" "$@"
fi

ip link set lo up
mkdir -p "$folder"/{data,home}
run=$(mktemp -d /tmp/room.XXXXXX) # short: the path of a Unix socket has at most 107 characters
while IFS='=' read -r name _; do unset "$name"; done < <(env | grep -iE '^(pip_|docker_|compose_|[a-z]+_proxy=)')
export HOME=$folder/home DOCKER_HOST=unix://$run/docker.sock
# No default bridge: Compose makes its own networks.
dockerd --bridge=none --data-root "$folder/data" --exec-root "$run" --pidfile "$run/dockerd.pid" \
    --host "$DOCKER_HOST" --containerd-namespace room --containerd-plugins-namespace room-plugins >"$folder/dockerd.log" 2>&1 </dev/null &
engine=$!
trap 'kill $engine 2>/dev/null; wait $engine || true; rm -rf "$run" || true' EXIT
until docker info >/dev/null 2>&1; do
    if ! kill -0 $engine 2>/dev/null; then
        tail -n 20 "$folder/dockerd.log" >&2
        exit 1
    fi
    sleep 0.5
done
"${@:2}"
