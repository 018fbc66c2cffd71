# shellcheck shell=bash
# The demo: three engines on this machine (extras/cluster/engines.sh).

export CLUSTER_NAME=$stack-cluster CLUSTER_NET=${CLUSTER_NET:-10.77.0}
demo=/run/$CLUSTER_NAME/1/docker.sock
demo_runs() { [ -S "$demo" ]; }

start_demo() {
    local images
    is_root || die "Three engines on this machine need root. Type: sudo make cluster-demo"
    ensure_engine || die "The demo needs a container engine: $engine_reason."
    choose_images
    build_images
    mapfile -t images < <(images)
    trap 'trap - INT TERM; stop_demo; exit 130' INT TERM
    extras/cluster/engines.sh up 3 "${images[@]}"
}

# The data of the backend are on the first node, those of the theatres on the next ones.
label_demo() {
    local number=0 service
    for service in backend "${theatres[@]}"; do
        docker -H "unix://$demo" node update --label-add "proscenium.$service=yes" "node-$((number++ % 3 + 1))" >/dev/null
    done
}

stop_demo() {
    extras/cluster/engines.sh down
    rm -rf "$cluster"
}
