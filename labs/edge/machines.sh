#!/usr/bin/env bash
# machines.sh up N | on I COMMAND... | client COMMAND... | cut I | plug I | kill I | start I | down
# Several machines on this one: container engines in network namespaces of their own, joined by a bridge in another. Needs
# root. The machine's own engine, its docker0 and its rules are not touched. MACHINES_PREFIX=other: a second set of machines, for
# another user of this one.
#
#   10.77.0.11 ...  the machines: `on I` runs a command in the network of machine I, and with its engine
#   10.77.0.100     a client outside: `client`
set -euo pipefail

die() {
    echo "$*" >&2
    exit 1
}

prefix=${MACHINES_PREFIX:-machines}
[[ $prefix =~ ^[a-z][a-z0-9]{0,11}$ ]] || die "MACHINES_PREFIX must be up to twelve lower-case letters and digits, not '$prefix'"
group=proscenium-$prefix # the control group of their processes
run=/run/$group          # sockets and logs of the engines
data=/var/lib/$group     # their images and containers
checkout=$(CDPATH='' cd -- "${0%/*}/../.." && pwd)
network=10.77.0

address() { echo "$network.$((10 + $1))"; }
socket() { echo "unix://$run/$1/docker.sock"; }
engine() { docker -H "$(socket "$1")" "${@:2}"; }

numbers() { find "$run" -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | sort -n; }

# plug_in I ADDRESS: adds a network namespace with a cable to the bridge. Its network card is always the same, as a machine's is:
# other machines may remember it for half a minute.
plug_in() {
    ip netns add "$prefix-$1"
    ip link add "cable-$1" netns "$prefix-switch" type veth \
        peer name eth0 netns "$prefix-$1" address "02:00:00:00:00:$(printf %02x "${2##*.}")"
    ip -n "$prefix-switch" link set "cable-$1" master bridge up
    ip -n "$prefix-$1" link set lo up
    ip -n "$prefix-$1" link set eth0 up
    ip -n "$prefix-$1" address add "$2/24" dev eth0
}

cable() { ip -n "$prefix-switch" link set "cable-$1" "$2"; }

start_engine() {
    local i=$1
    mkdir -p "$run/$i" "$data/$i"
    # nsenter, because `ip netns exec` mounts another /sys, which has no control groups. There is no name server: names that the
    # engine does not know are asked of 127.0.0.1, which refuses immediately.
    (
        # The engine outlives this command, so it must keep no pipe of the caller.
        for file in "/proc/$BASHPID/fd/"*; do
            file=${file##*/}
            if [ "$file" -gt 2 ]; then exec {file}>&-; fi
        done
        # shellcheck disable=SC2016  # for the other shell
        exec setsid nsenter --net="/run/netns/$prefix-$i" unshare --uts sh -c 'hostname "$0" && exec "$@"' "machine-$i" \
            dockerd --data-root "$data/$i" --exec-root "$run/$i" --pidfile "$run/$i/docker.pid" --host "$(socket "$i")" \
            --cgroup-parent "/$group/$i" --dns 127.0.0.1 --no-new-privileges --config-file "$run/engine.json"
    ) >>"$run/$i.log" 2>&1 </dev/null &
    for _ in {1..200}; do
        if engine "$i" info >/dev/null 2>&1; then return; fi
        sleep 0.1
    done
    tail "$run/$i.log" >&2
    return 1
}

# images: names the stack's images and their base, for which `make up` asks; builds those that this machine's engine lacks.
images() (
    cd "$checkout"
    . bin/lib/common.sh
    . offline/images.sh
    choose_images >&2
    build_images >&2
    images_in_use
    if here proscenium/base:trixie; then echo proscenium/base:trixie; fi
)

# The first engine loads the images; the others get hard links to its layers, which no engine ever writes to.
up() {
    local n=$1 i images
    images=$(images)
    down
    mkdir -p "$run"
    echo '{}' >"$run/engine.json" # not the configuration of the machine's own engine
    ip netns add "$prefix-switch"
    ip -n "$prefix-switch" link add bridge type bridge
    ip -n "$prefix-switch" link set bridge up
    plug_in client "$network.100"
    for ((i = 1; i <= n; i++)); do plug_in "$i" "$(address "$i")"; done

    start_engine 1
    # shellcheck disable=SC2086  # several
    docker save $images | engine 1 load -q >/dev/null
    stop_engine 1
    for ((i = 2; i <= n; i++)); do
        mkdir -p "$data/$i"
        cp -al "$data/1/image" "$data/1/overlay2" "$data/$i/"
    done
    for ((i = 1; i <= n; i++)); do start_engine "$i"; done
}

# stop_engine I [SIGNAL]: ends the engine in order; with KILL at once, together with its containerd and containers.
stop_engine() {
    local folder=$run/$1 pids
    if [ "${2:-}" = KILL ]; then
        pids=$(
            ip netns pids "$prefix-$1" 2>/dev/null || true
            pgrep -f -- "containerd-shim.* -address $folder/containerd/" || true
            find /sys/fs/cgroup -path "*/$group/$1/*" -name cgroup.procs -exec cat {} + 2>/dev/null || true
        )
    else
        pids=$(cat "$folder/docker.pid")
    fi
    # shellcheck disable=SC2086  # several
    kill "-${2:-TERM}" $pids 2>/dev/null || true
    for pid in $pids; do
        for _ in {1..100}; do
            if ! kill -0 "$pid" 2>/dev/null; then break; fi
            sleep 0.1
        done
    done
    rm -f "$folder/docker.pid" "$folder/containerd/containerd.pid"
    unmount "$folder"
    unmount "$data/$1"
}

# unmount FOLDER: unmounts the folder and everything below it, the innermost first.
unmount() {
    awk -v folder="$1" '$2 == folder || index($2, folder "/") == 1 { print $2 }' /proc/mounts | sort -r | xargs -r -n 1 umount -l
}

down() {
    local i namespace
    if [ -d "$run" ]; then for i in $(numbers); do stop_engine "$i" KILL; done; fi
    for namespace in $(ip netns list | awk -v ours="^$prefix-([0-9]+|switch|client)\$" '$1 ~ ours { print $1 }'); do ip netns delete "$namespace"; done
    rm -rf "$run" "$data"
    find /sys/fs/cgroup -depth -type d \( -path "*/$group" -o -path "*/$group/*" \) -exec rmdir {} + 2>/dev/null || true
}

command=${1:-}
shift || true
[ "$(id -u)" = 0 ] || die "Engines of their own need root."
case $command in
up) up "$@" ;;
on) DOCKER_HOST=$(socket "$1") exec nsenter --net="/run/netns/$prefix-$1" "${@:2}" ;;
client) exec nsenter --net="/run/netns/$prefix-client" "$@" ;;
cut) cable "$1" down ;;
plug) cable "$1" up ;;
kill) # a power cut: from now on the machine says nothing
    ip -n "$prefix-switch" link delete "cable-$1"
    stop_engine "$1" KILL
    ip netns delete "$prefix-$1" # with its bridges and rules
    ;;
start)
    plug_in "$1" "$(address "$1")"
    start_engine "$1"
    ;;
down) down ;;
*) sed -n 2p "$0" >&2; exit 1 ;;
esac
