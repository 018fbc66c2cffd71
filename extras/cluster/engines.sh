#!/usr/bin/env bash
# Several container engines on this machine, joined in one Docker Swarm: what is a machine elsewhere is a network
# namespace here, with a host name, a data folder and a control group of its own.
#
#   engines.sh up N [IMAGE...]     N engines with these images of this machine's engine; node-1 is the manager
#   engines.sh join                one more node
#   engines.sh kill I              node I loses power: every process of it ends at once
#   engines.sh cut I, plug I       its network cable
#   engines.sh start I             it is switched on again
#   engines.sh down                ends and removes everything
#
# The manager answers at DOCKER_HOST=unix:///run/NAME/1/docker.sock, its nodes at NET.11, NET.12 ...; this machine is NET.1
# there, so a browser on it reaches them. CLUSTER_NAME (proscenium-cluster) and CLUSTER_NET (10.77.0) tell two sets of engines apart.
set -euo pipefail

name=${CLUSTER_NAME:-proscenium-cluster} net=${CLUSTER_NET:-10.77.0}
run=/run/$name data=/var/lib/$name
id=${net//./} # an interface has 15 characters
switch=$name-switch

step() { printf '==> %s (%d s)\n' "$*" "$SECONDS"; }
die() { echo "$*" >&2 && exit 1; }

[ "$(id -u)" = 0 ] || die "Engines in network namespaces need root."
for program in docker dockerd ip nsenter unshare; do
    command -v $program >/dev/null || die "$program is missing; it comes with the packages docker.io, iproute2 and util-linux."
done

engine() { docker -H "unix://$run/$1/docker.sock" "${@:2}"; }
node() { echo "$name-$1"; }
nodes() { find "$run" -maxdepth 1 -name '[0-9]*' -printf '%f\n' 2>/dev/null | sort -n; }
known() { nodes | grep -qx "${1:-}" || die "There is no node '${1:-}'; there are: $(nodes | paste -s -d ' ' -)"; }

# --- The network: a switch, and a cable from it to each node and to this machine.

# The switch has a namespace of its own: in this machine's, its engine has iptables drop what is forwarded, and frames on a
# bridge meet iptables, too.
make_switch() {
    ip netns add "$switch"
    ip -n "$switch" link add br0 type bridge
    ip -n "$switch" link set br0 up
    ip link add "h$id" type veth peer name host netns "$switch"
    ip -n "$switch" link set host master br0 up
    ip addr add "$net.1/24" dev "h$id"
    ip link set "h$id" up
}

# connect NAMESPACE PORT ADDRESS: a namespace with a cable to that port of the switch.
connect() {
    ip netns add "$1"
    ip link add "$2" netns "$switch" type veth peer name eth0 netns "$1"
    ip -n "$switch" link set "$2" master br0 up
    ip -n "$1" link set lo up
    ip -n "$1" link set eth0 up
    ip -n "$1" addr add "$3/24" dev eth0
}

# --- An engine.

# `ip netns exec` would hide the control groups from it, nsenter does not. It has no name server to ask, and must not ask
# this machine's: an unknown name is unknown.
start_engine() {
    mkdir -p "$run/$1" "$data/$1"
    echo '{ "dns": ["127.0.0.1"], "no-new-privileges": true, "log-level": "warn" }' >"$run/engine.json"
    # shellcheck disable=SC2016  # for the inner shell
    setsid nsenter --net="/run/netns/$(node "$1")" unshare --uts sh -c 'hostname "$0" && exec "$@"' "node-$1" \
        dockerd --config-file "$run/engine.json" --data-root "$data/$1" --exec-root "$run/$1/exec" \
        --pidfile "$run/$1/docker.pid" -H "unix://$run/$1/docker.sock" --cgroup-parent "/$name/$1" \
        >"$run/$1/log" 2>&1 </dev/null &
}

await_engine() {
    local _
    for _ in {1..150}; do
        if engine "$1" info >/dev/null 2>&1; then return; fi
        sleep 0.2
    done
    tail -n 5 "$run/$1/log" >&2
    die "Engine $1 does not start."
}

# processes I: of the engine, of containerd and its shims, and of the containers.
processes() {
    awk 1 "$run/$1/docker.pid" "$run/$1/exec/containerd/containerd.pid" 2>/dev/null || true # the files end without a newline
    find /sys/fs/cgroup -path "*/$name/$1/*" -name cgroup.procs -exec cat {} + 2>/dev/null || true
    pgrep -f -- "^[^ ]*containerd-shim.* -address $run/$1/exec/" || true
}

# kill_node I: a shim may start a process while the others end.
kill_node() {
    local _ found
    for _ in {1..50}; do
        found=$(processes "$1" | sort -u)
        found=$(for pid in $found; do [ ! -e "/proc/$pid" ] || echo "$pid"; done)
        [ "$found" ] || return 0
        # shellcheck disable=SC2086  # several
        kill -KILL $found 2>/dev/null || true
        sleep 0.1
    done
    die "Node $1 does not end."
}

# unmount FOLDER: everything mounted below it.
unmount() { awk -v below="$1/" 'index($2, below) == 1 { print $2 }' /proc/mounts | sort -r | xargs -r -n 1 umount -l; }

# load_images N IMAGE...: only the first engine loads them. The others get links to its files, which no engine changes;
# each would need as long as the first. Done before they start: an engine mounts its folder over itself, and a link cannot
# leave a mount.
load_images() {
    local i
    ip netns add "$(node 1)"
    start_engine 1
    await_engine 1
    docker save "${@:2}" | engine 1 load -q >/dev/null
    if [ ! -d "$data/1/image/overlay2" ]; then # containerd's image store keeps them elsewhere
        step "This kind of engine shares no images: each loads them"
        images_left=("${@:2}")
    fi
    kill "$(cat "$run/1/docker.pid")"
    while [ -e "$run/1/docker.pid" ]; do sleep 0.1; done
    kill_node 1
    unmount "$data/1"
    for ((i = 2; ${#images_left[@]} == 0 && i <= $1; i++)); do link_images "$i"; done
    ip netns del "$(node 1)"
}
link_images() {
    mkdir -p "$data/$1"
    cp -al "$data/1/image" "$data/1/overlay2" "$data/$1/"
}
images_left=()

# --- The commands.

up() {
    local nodes=$1 i
    [[ $nodes =~ ^[1-9]$ ]] || die "up: '$nodes' is no number from 1 to 9"
    [ ! -e "$run" ] || die "These engines run already. Type: $0 down"
    trap 'trap - EXIT; down' EXIT
    trap 'exit 130' INT TERM
    mkdir -p "$run"
    if [ $# -gt 1 ]; then
        step "Loading $(($# - 1)) images"
        load_images "$@"
        # For nodes that join later: once this engine runs, its folder is a mount.
        mkdir "$data/spare"
        [ ${#images_left[@]} -gt 0 ] || cp -al "$data/1/image" "$data/1/overlay2" "$data/spare/"
    fi
    step "Starting $nodes engines"
    make_switch
    for ((i = 1; i <= nodes; i++)); do
        connect "$(node "$i")" "node-$i" "$net.$((10 + i))"
        start_engine "$i"
    done
    for ((i = 1; i <= nodes; i++)); do
        await_engine "$i"
        if [ "$i" -gt 1 ] && [ ${#images_left[@]} -gt 0 ]; then docker save "${images_left[@]}" | engine "$i" load -q >/dev/null; fi
    done
    # A lost node is noticed after three heartbeats.
    engine 1 swarm init --advertise-addr "$net.11" --listen-addr "$net.11:2377" --dispatcher-heartbeat 3s >/dev/null
    for ((i = 2; i <= nodes; i++)); do join_swarm "$i"; done
    trap - EXIT
    step "$nodes nodes; export DOCKER_HOST=unix://$run/1/docker.sock"
}

join_swarm() {
    local token
    token=$(engine 1 swarm join-token -q worker)
    engine "$1" swarm join --token "$token" --advertise-addr "$net.$((10 + $1))" --listen-addr "$net.$((10 + $1)):2377" "$net.11:2377" >/dev/null
}

join() {
    local i=1
    known 1
    while [ -d "$run/$i" ]; do i=$((i + 1)); done
    if [ -d "$data/spare/image" ]; then mkdir -p "$data/$i" && cp -al "$data/spare/." "$data/$i/"; fi
    connect "$(node "$i")" "node-$i" "$net.$((10 + i))"
    start_engine "$i"
    await_engine "$i"
    join_swarm "$i"
}

down() {
    local i namespace
    for i in $(nodes); do kill_node "$i" & done
    wait
    unmount "$run"
    unmount "$data"
    for namespace in $(ip netns list | grep -oE "^$name-([0-9]|switch)\>"); do ip netns del "$namespace"; done
    ip link del "h$id" 2>/dev/null || true # it goes with the switch, but not at once
    rm -rf "$run" "$data"
    find /sys/fs/cgroup -depth -type d \( -path "*/$name" -o -path "*/$name/*" \) -exec rmdir {} + 2>/dev/null || true
}

case ${1:-} in
up) up "${2:-}" "${@:3}" ;;
join) join ;;
kill) known "${2:-}" && kill_node "$2" ;;
cut) known "${2:-}" && ip -n "$switch" link set "node-$2" down ;;
plug) known "${2:-}" && ip -n "$switch" link set "node-$2" up ;;
start)
    known "${2:-}"
    unmount "$run/$2"
    start_engine "$2"
    await_engine "$2"
    ;;
down) down ;;
*) die "engines.sh knows up, join, kill, cut, plug, start and down, not '${1:-}'" ;;
esac
