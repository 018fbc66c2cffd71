# shellcheck shell=bash
# Functions for the commands in faults/*.toml, which break a running stack in containers, and mend it.

. bin/lib/common.sh
. bin/lib/containers.sh

# id_of SERVICE: prints the id of the service's first container, running or not.
id_of() { container_ids "$1" --all | head -n 1; }

# publish_state: writes standard input to the file that nginx serves (nginx/sites/fault.conf).
publish_state() { docker exec -i "$(id_of nginx)" sh -c 'cd /etc/nginx/generated && cat >.fault && mv .fault fault.json'; }

# kill_main SERVICE: kills the first process of a container, as the kernel does when memory is short. (`docker kill` would tell
# the engine not to start it again. Inside the container the kernel protects this process.)
kill_main() { host kill -KILL "$(docker inspect -f '{{.State.Pid}}' "$(id_of "$1")")"; }

# host COMMAND...: runs the command as root among this machine's processes, even for a user who is not root.
host() {
    if [ "$EUID" = 0 ]; then "$@"; else
        docker run --rm --pid host --network none --user 0 --entrypoint "$1" "$(docker inspect -f '{{.Image}}' "$(id_of backend)")" "${@:2}"
    fi
}

# stutter SERVICE: for six seconds its main program runs for a quarter of the time. (Process 1 is docker-init. Pauses by the engine
# would be sixty events.)
stutter() {
    # shellcheck disable=SC2016 # the shell in the container expands it
    container_exec "$1" sh -c 'program=$(grep -l "^PPid:.1$" /proc/[0-9]*/status | head -n 1 | cut -d / -f 3)
        [ "$program" ] || exit 1
        for _ in $(seq 30); do kill -STOP "$program"; sleep 0.15; kill -CONT "$program"; sleep 0.05; done'
}

# signal_worker SERVICE SIGNAL: sends the signal to a child of the service's main process. (Process 1 is docker-init.)
signal_worker() {
    # shellcheck disable=SC2016 # the shell in the container expands it
    container_exec "$1" sh -c 'child_of() { grep -l "^PPid:.$1$" /proc/[0-9]*/status | head -n 1 | cut -d / -f 3; }
        kill -"$0" "$(child_of "$(child_of 1)")"' "$2"
}

# unpause SERVICE: continues a paused service, unless a learner has done so already.
unpause() { [ "$(docker inspect -f '{{.State.Paused}}' "$(id_of "$1")")" = false ] || docker compose unpause "$1"; }

# unplug SERVICE NETWORK, plug SERVICE NETWORK: takes the container off a network, and puts it back under its names.
unplug() { docker network disconnect "${COMPOSE_PROJECT_NAME}_$2" "$(id_of "$1")"; }
plug() {
    local names
    # `make up` may have re-created the container: the new one is on the network already.
    if docker inspect -f '{{json .NetworkSettings.Networks}}' "$(id_of "$1")" | grep -q "\"${COMPOSE_PROJECT_NAME}_$2\""; then return; fi
    names=$(docker compose config --format json | python3 -c '
import json, sys
service = json.load(sys.stdin)["services"][sys.argv[1]]
print(*(service["networks"][sys.argv[2]] or {}).get("aliases", []))' "$1" "$2")
    # shellcheck disable=SC2046,SC2086 # names, separated by spaces
    docker network connect $(printf -- '--alias %s ' "$1" $names) "${COMPOSE_PROJECT_NAME}_$2" "$(id_of "$1")"
}

# is_well: succeeds if every service is healthy. The engine needs a moment to notice that a service has ended.
is_well() {
    sleep 1
    ! docker ps -a --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME" --filter label=com.docker.compose.oneoff=False \
        --format '{{.State}} {{.Status}}' | grep -qE '^(created|exited|restarting|paused|dead)|\((unhealthy|health: )'
}

# in_data COMMAND: runs a shell command in the backend's data folder, in a container of its own, even if the backend is down.
in_data() {
    docker run --rm -i --network none --user 1000 --entrypoint sh --workdir /var/lib/upstage \
        --volumes-from "$(id_of backend)" "$(docker inspect -f '{{.Image}}' "$(id_of backend)")" -c "$1"
}

# for_seconds SECONDS SERVICE COMMAND: runs a shell command in the background in the service's container, for at most that long.
for_seconds() {
    docker exec -d "$(id_of "$2")" timeout "$1" sh -c "$3"
}
