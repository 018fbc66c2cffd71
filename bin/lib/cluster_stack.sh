# shellcheck shell=bash
# The stack on the Swarm: whether it can start there, its deployment, and when that is done.

running() { [ -n "$(docker stack services -q "$stack" 2>/dev/null)" ]; }

# setting SERVICE NAME: its value in the containers of a running service.
setting() {
    docker service inspect -f '{{range .Spec.TaskTemplate.ContainerSpec.Env}}{{println .}}{{end}}' "${stack}_$1" | sed -n "s/^$2=//p"
}

# replicas SERVICE DEFAULT: as many as there are, so that `cluster-scale` outlives the next `cluster-up`.
replicas() {
    local now
    now=$(docker service inspect -f '{{.Spec.Mode.Replicated.Replicas}}' "${stack}_$1" 2>/dev/null) || now=$2
    echo "$now"
}

require_manager() {
    local swarm
    swarm=$(docker info -f '{{.Swarm.LocalNodeState}} {{.Swarm.ControlAvailable}}' 2>/dev/null) ||
        die "No container engine answers. The engine has to be a manager of a Swarm (extras/cluster/README.md)."
    [ "$swarm" = "active true" ] ||
        die "This engine is not a manager of a Swarm. To make it one, type: docker swarm init (extras/cluster/README.md)"
}

require_labels() {
    local service
    for service in backend $THEATRES; do
        [ "$(docker node ls -q --filter "node.label=proscenium.$service=yes")" ] ||
            die "Say on which node the data of $service are: docker node update --label-add proscenium.$service=yes NODE (docker node ls)"
    done
}

deploy() {
    local file resolve=never
    [ -z "${CLUSTER_REGISTRY:-}" ] || resolve=changed
    CLUSTER_VARNISH=${CLUSTER_VARNISH:-$(replicas varnish 3)}
    LOADTEST_WORKERS=${LOADTEST_WORKERS:-$(replicas locust-worker 3)}
    export CLUSTER_VARNISH LOADTEST_WORKERS
    local files=(-f compose.yaml -f extras/workers/compose.yaml)
    for file in ${CLUSTER_COMPOSE:-}; do files+=(-f "$file"); done
    if [ ${#theatres[@]} -gt 0 ]; then
        write_theatres
        files+=(-f "$cluster/theatres.yaml" -f extras/cluster/swarm.yaml -f "$cluster/theatres-swarm.yaml")
    else
        files+=(-f extras/cluster/swarm.yaml)
    fi
    # Compose warns of everything that only Swarm understands.
    quietly "cluster-config-$stack" docker compose --project-directory . "${files[@]}" \
        config --format json --output "$cluster/compose.json"
    python3 extras/cluster/translate.py <"$cluster/compose.json" >"$cluster/stack.json"
    quietly "cluster-deploy-$stack" docker stack deploy --prune --resolve-image $resolve -c "$cluster/stack.json" "$stack"
}

# wait_until_ready SECONDS: each service has as many healthy tasks as it should; says so when a number changes.
wait_until_ready() {
    local said='' now
    for ((end = SECONDS + $1; SECONDS < end; )); do
        now=$(docker stack services --format '{{.Name}} {{.Replicas}}' "$stack" | sed "s/^${stack}_//; s/ (.*//" | sort)
        if ! awk '{ split($2, n, "/"); if (n[1] != n[2]) exit 1 }' <<<"$now"; then
            if [ "$now" != "$said" ]; then step "$(paste -s -d , <<<"$now" | sed 's/,/, /g')"; fi
            said=$now
            sleep 1
            continue
        fi
        return
    done
    docker stack ps --no-trunc --format '{{.Name}} on {{.Node}}: {{.CurrentState}} {{.Error}}' "$stack" | grep -v ': Running' | sed -n 1,15p >&2
    die "Not every service became healthy within $1 s: the lines above say which, and why. make cluster-status shows the rest."
}

# Whether the nodes have loaded the files: Swarm brings the old ones back if one of them cannot.
require_loaded() {
    local version
    version=$(setting files VERSION)
    if [ "$version" != "$CLUSTER_FILES" ]; then
        # The same mistake is reported by each node, with other process numbers.
        timeout 10 docker service logs --raw --since 5m "${stack}_files" 2>&1 | sed -n 's/^Not loaded.*\(\[emerg\]\) [^ ]*/Not loaded: \1/p; t; /^Not loaded/p' | sort -u | sed -n 1,5p >&2 || true
        die "The new files were not loaded; every node has the old ones again."
    fi
}
update_state() { docker service inspect -f '{{if .UpdateStatus}}{{.UpdateStatus.State}}{{end}}' "${stack}_files"; }
wait_for_files() {
    local _
    for _ in {1..120}; do
        case $(update_state) in
        updating | rollback_started) sleep 1 ;;
        *) return ;;
        esac
    done
}

# Configs and certificates that no service uses any more; those in use cannot be removed.
remove_old_versions() {
    docker config ls -q --filter "label=com.docker.stack.namespace=$stack" | xargs -r docker config rm >/dev/null 2>&1 || true
    docker secret ls -q --filter "label=com.docker.stack.namespace=$stack" | xargs -r docker secret rm >/dev/null 2>&1 || true
}

up() {
    require_labels
    name_images
    pack_files
    choose_certificate
    make_passwords
    step "Deploying the stack $stack on $(docker node ls -q | wc -l) nodes"
    deploy
    sleep 1 # the update has begun
    wait_for_files
    wait_until_ready "${CLUSTER_TIMEOUT:-240}"
    require_loaded
    remove_old_versions
}

# addresses: of the nodes, as lines of "name address".
addresses() { docker node ls -q | xargs docker node inspect -f '{{.Description.Hostname}} {{.Status.Addr}}'; }
