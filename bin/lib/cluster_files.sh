# shellcheck shell=bash
# What the nodes get: files, certificate, passwords, and the theatres as services.

checksum() { sha256sum | cut -c 1-12; }

# The folders that Compose mounts, as one archive that is the same whenever the files are.
pack_files() {
    mkdir -p "$cluster"
    tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=a+rX \
        --exclude=tests --exclude=__pycache__ --exclude='.*' -c nginx varnish policyd loadtest lessons |
        gzip -n >"$cluster/files.tar.gz"
    CLUSTER_FILES=$(checksum <"$cluster/files.tar.gz")
    CLUSTER_RUN=$(checksum <extras/cluster/run.sh)
    CLUSTER_DISTRIBUTE=$(checksum <extras/cluster/distribute.sh)
    export CLUSTER_FOLDER=$PWD/$cluster CLUSTER_FILES CLUSTER_RUN CLUSTER_DISTRIBUTE
}

# One certificate for all nodes: the user's, or a self-signed one.
choose_certificate() {
    export TLS_CERTIFICATE=${TLS_CERTIFICATE:-} TLS_CERTIFICATE_KEY=${TLS_CERTIFICATE_KEY:-}
    # shellcheck disable=SC2034  # read by the script
    CERTIFICATE_FOLDER=$PWD/$cluster
    . nginx/scripts/certificate.sh
    CLUSTER_CERTIFICATE=$(cat "$CERTIFICATE" "$CERTIFICATE_KEY" | checksum)
    export CLUSTER_CERTIFICATE CLUSTER_CERTIFICATE_FILE=$CERTIFICATE CLUSTER_KEY_FILE=$CERTIFICATE_KEY
}

# Passwords are made once and kept by the Swarm; this folder has a copy.
make_passwords() {
    local what
    for what in admin locust load "${theatres[@]/%/-admin}"; do
        if docker secret inspect "${stack}_$what-password" >/dev/null 2>&1; then continue; fi
        [ -s "$cluster/$what-password" ] || (umask 077 && openssl rand -hex 8 >"$cluster/$what-password")
        tr -d '\n' <"$cluster/$what-password" | docker secret create "${stack}_$what-password" - >/dev/null
    done
}
# password NAME: for people.
password() { cat "$cluster/$1-password" 2>/dev/null || echo "(made by another checkout)"; }

# The theatres, each on a node of its own, as backend is on one.
write_theatres() {
    theatres_yaml >"$cluster/theatres.yaml"
    {
        echo services:
        for theatre in "${theatres[@]}"; do
            cat <<END
  $theatre:
    extends: { file: extras/cluster/swarm.yaml, service: backend }
    volumes: !override
      ["$theatre-data:/var/lib/upstage", "$theatre-media:/srv/media", "player:/run/player", "files:/etc/proscenium:ro"]
    secrets: !override [{ source: $theatre-admin, target: UPSTAGE_ADMIN_PASSWORD }, LOADTEST_PASSWORD]
    deploy: { placement: { constraints: !override [node.labels.proscenium.$theatre == yes] } }
END
        done
        echo secrets:
        for theatre in "${theatres[@]}"; do
            echo "  $theatre-admin: { name: \"\${COMPOSE_PROJECT_NAME}_$theatre-admin-password\", external: true }"
        done
    } >"$cluster/theatres-swarm.yaml"
}
