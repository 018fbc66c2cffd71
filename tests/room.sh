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
mkdir -p "$folder"/{data,run,home}
while IFS='=' read -r name _; do unset "$name"; done < <(env | grep -iE '^(pip_|docker_|compose_|[a-z]+_proxy=)')
export HOME=$folder/home DOCKER_HOST=unix://$folder/run/docker.sock
# No default bridge: Compose makes networks of its own.
dockerd --bridge=none --data-root "$folder/data" --exec-root "$folder/run" --pidfile "$folder/run/dockerd.pid" \
    --host "$DOCKER_HOST" --containerd-namespace room --containerd-plugins-namespace room-plugins >"$folder/dockerd.log" 2>&1 </dev/null &
engine=$!
trap 'kill $engine; wait $engine || true' EXIT
until docker info >/dev/null 2>&1 || ! kill -0 $engine; do sleep 0.5; done
"${@:2}"
