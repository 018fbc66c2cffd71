# shellcheck shell=bash
# Each command for a stack on a Docker Swarm (extras/cluster), as far as there is one. Those that ask a container work where it runs.

swarm_service() { echo "${COMPOSE_PROJECT_NAME}_$1"; }
# swarm_ids SERVICE [OPTION]: its containers on this machine.
swarm_ids() { docker ps -q --filter "label=com.docker.swarm.service.name=$(swarm_service "$1")" "${2:---filter=status=running}"; }
# swarm_node SERVICE: a machine that runs it; a manager knows.
swarm_node() { docker service ps --filter desired-state=running --format '{{.Node}}' "$(swarm_service "$1")" 2>/dev/null | sed -n 1p; }
is_manager() { [ "$(docker info --format '{{.Swarm.LocalNodeState}} {{.Swarm.ControlAvailable}}' 2>/dev/null)" = 'active true' ]; }
require_manager() {
    is_manager || die "The stack '$COMPOSE_PROJECT_NAME' runs on a Swarm, of which this machine is no manager. Type, on a manager: make $asked"
}

# swarm_exec SERVICE COMMAND...: runs it in the service's container; if that is on another machine, says on which, and what to type
# there: a checkout is on the first machine only.
swarm_exec() {
    local id node line
    id=$(swarm_ids "$1" | head -n 1)
    if [ -z "$id" ]; then
        require_manager
        node=$(swarm_node "$1") || true
        [ -n "$node" ] || die "No machine runs $1. Type: make cluster-status"
        line="docker exec -i \$(docker ps -qf name=$(swarm_service "$1")) ${*:2}"
        if [ "$asked" = backup ]; then line+=' >backup.tar.gz'; fi
        die "$1 runs on $node. Type there: $line"
    fi
    docker exec -i "$id" "${@:2}"
}
stack_upstage() { swarm_exec "$1" upstage "${@:2}"; }
stack_exists() { swarm_exists; }
stack_runs() { :; } # swarm_exec says where
stack_certificate_end() { swarm_exec nginx sh -c "$certificate_end" sh 127.0.0.1:8443; }

# swarm_missing: the services that are not there yet, a line each: they have too few healthy containers, or are being updated, while
# the containers of the old version still count.
swarm_missing() {
    local name healthy update
    while read -r name healthy _; do
        update=$(docker service inspect --format '{{if .UpdateStatus}}{{.UpdateStatus.State}}{{end}}' "$name")
        if [ "${healthy%/*}" -lt "${healthy#*/}" ] || [[ -n $update && $update != *completed ]]; then # or rollback_completed
            echo "${name#"${COMPOSE_PROJECT_NAME}_"} $healthy${update:+ $update}"
        fi
    done < <(docker stack services "$COMPOSE_PROJECT_NAME" --format '{{.Name}} {{.Replicas}}')
}
stack_status() {
    local missing
    require_manager
    docker stack ps "$COMPOSE_PROJECT_NAME" --filter desired-state=running --format 'table {{.Name}}\t{{.Node}}\t{{.CurrentState}}\t{{.Error}}'
    missing=$(swarm_missing)
    [ -z "$missing" ] || { say "Not there yet: ${missing//$'\n'/, }." && return 1; }
}
stack_logs() {
    local services
    require_manager
    services=$(docker stack services "$COMPOSE_PROJECT_NAME" --format '{{.Name}}')
    trap 'xargs -r kill <<<"$(jobs -p)" 2>/dev/null || true' EXIT # Ctrl-C does not reach what bash runs in the background
    for service in $services; do docker service logs --follow --tail 50 "$service" & done
    wait
}

# --- A restore: on a manager that has the data.

require_data_here() {
    local node
    require_manager
    [ -z "$(swarm_ids "$1")" ] || return 0
    node=$(swarm_node "$1") || true
    die "The data are on ${node:-the node with the label stage=yes}, which must be a manager. Type: docker node promote ${node:-NODE}, and there, in a checkout: make restore"
}
# stack_aside SERVICE ARGUMENTS: the command line on the data of one that may be stopped, in a container beside it.
stack_aside() {
    docker run --rm -i --network none --cap-drop ALL --user 1000:1000 \
        -v "$(swarm_service data):/var/lib/upstage" -v "$(swarm_service media):/srv/media" \
        "$(docker service inspect --format '{{.Spec.TaskTemplate.ContainerSpec.Image}}' "$(swarm_service "$1")")" upstage "${@:2}"
}
stack_stop() {
    docker service scale --detach "$(swarm_service "$1")=0" || return
    for _ in {1..240}; do
        [ -n "$(swarm_ids "$1")" ] || return 0
        sleep 0.5
    done
    echo "$1 does not stop." >&2
    return 1
}
stack_start() {
    docker service scale --detach "$(swarm_service "$1")=1" || return
    for _ in {1..240}; do
        [ -z "$(swarm_ids "$1" --filter=health=healthy)" ] || return 0
        sleep 0.5
    done
    die "$1 did not become healthy. Type: docker service logs --tail 20 $(swarm_service "$1")"
}
