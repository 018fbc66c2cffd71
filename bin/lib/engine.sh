# shellcheck shell=bash
# The container engine and Compose: uses them if they answer; otherwise installs and
# starts them, if this user may. A function that fails sets $engine_reason.
engine_reason=

. offline/images.sh

engine_answers() { has docker && timeout 20 docker info >/dev/null 2>&1; }

compose_needed=2.24.4 # and newer: labs and extras use !reset and !override
# compose_suffices: succeeds if Compose has that version or a newer one, or does not tell.
compose_suffices() {
    local found=${compose_version#v}
    printf '%s\n' "$compose_needed" "${found:-$compose_needed}" | sort -CV
}

start_engine() {
    local log=/var/log/proscenium-dockerd.log pid=
    step "Starting the container engine"
    if [ -d /run/systemd/system ]; then
        if ! systemctl start docker >/dev/null 2>&1; then
            engine_reason="systemd could not start docker (journalctl -u docker says why)"
            return 1
        fi
    else
        # Detached from this terminal and its pipes: the engine outlives this command.
        setsid dockerd >"$log" 2>&1 </dev/null &
        pid=$!
    fi
    for _ in {1..60}; do
        engine_answers && return 0
        if [ -n "$pid" ] && ! kill -0 "$pid" 2>/dev/null; then break; fi
        sleep 0.5
    done
    engine_reason="the container engine does not start here ($log says why)"
    return 1
}

install_compose() {
    local plugins=${DOCKER_CONFIG:-$HOME/.docker}/cli-plugins
    step "Compose is missing: installing it as a Python package into $plugins"
    if ! python3 -c 'import ensurepip' 2>/dev/null; then
        may_install || die "Compose is missing, and without python3-venv it cannot be installed. Type: sudo apt-get install python3-venv"
        install_packages python3 python3-venv
    fi
    python3 -m venv .run/compose-venv
    quietly pip-compose .run/compose-venv/bin/pip install -q --disable-pip-version-check --require-hashes -r bin/lib/compose.lock
    mkdir -p "$plugins"
    install -m 755 .run/compose-venv/bin/docker-compose "$plugins/docker-compose"
    rm -rf .run/compose-venv
}

# Succeeds when containers can be used; installs and starts what is missing if this user may.
ensure_engine() {
    if ! engine_answers; then
        require_engine
        engine_reason=
        if [ -n "${DOCKER_HOST:-}" ]; then
            engine_reason="no engine answers at DOCKER_HOST=$DOCKER_HOST"
        elif context=$(docker context show 2>/dev/null || echo "${DOCKER_CONTEXT:-default}") && [ "$context" != default ]; then
            engine_reason="no engine answers in Docker's context '$context' (docker context ls; docker context use default)"
        elif ! is_root; then
            engine_reason="no container engine answers, and only root could install or start one"
        elif ! has dockerd && ! is_debian_like; then
            engine_reason="no container engine answers, and this command can install one on Debian and Ubuntu only"
        fi
        [ -z "$engine_reason" ] || return 1
        if ! has dockerd; then
            step "No container engine answers: installing Docker from this distribution's packages"
            install_packages docker.io iptables ca-certificates
        fi
        start_engine || return 1
    fi
    compose_answers || install_compose
    compose_suffices || die "Compose $compose_version is too old: $compose_needed or newer is needed (docs/operations.md, Engines and versions)."
}
