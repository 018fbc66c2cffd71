# shellcheck shell=bash
# Images: on each node already, or in a registry that each node reaches.

# images: those of the services, in the same order.
images() {
    docker compose config --format json | python3 -c '
import json, sys
services = json.load(sys.stdin)["services"]
print(*(services[name]["image"] for name in sys.argv[1:]), sep="\n")' "${services[@]}"
}

# image SERVICE: what it is called in the registry.
image() { echo "$CLUSTER_REGISTRY/proscenium-$1:$(git describe --always --dirty 2>/dev/null || echo latest)"; }
name_images() {
    local service
    if [ "${CLUSTER_REGISTRY:-}" ]; then
        for service in "${services[@]}"; do export "${service^^}_IMAGE=$(image "$service")"; done
    elif override_is_ours; then
        set -a
        . offline/images.env
        set +a
    fi
}

send_images() {
    local service images=() context
    [ "${CLUSTER_REGISTRY:-}${CONTEXTS:-}" ] ||
        die 'Say where to: CLUSTER_REGISTRY=registry.example.org/theatre, or CONTEXTS="node-2 node-3" (docker context ls)'
    choose_images
    build_images
    mapfile -t images < <(images)
    if [ "${CLUSTER_REGISTRY:-}" ]; then
        for service in "${!services[@]}"; do
            here "${images[service]}" || quietly pull docker pull "${images[service]}"
            step "Pushing $(image "${services[service]}")"
            docker tag "${images[service]}" "$(image "${services[service]}")"
            quietly "push-${services[service]}" docker push "$(image "${services[service]}")"
        done
        return
    fi
    for context in $CONTEXTS; do
        step "Loading the images into $context"
        docker save "${images[@]}" | docker --context "$context" load -q >/dev/null
    done
}
