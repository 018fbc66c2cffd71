# shellcheck shell=bash
# The house in containers: what each command does there.

containers_up() {
    local open=
    if containers_running; then open=yes; fi
    step "Building backend and policyd"
    quietly "build-$COMPOSE_PROJECT_NAME" docker compose build
    step "Starting nginx, Varnish, the backend, policyd and Locust, each when those behind it are healthy"
    if ! docker compose up -d --remove-orphans --wait --wait-timeout 120; then
        docker compose ps -a
        docker compose logs --tail 20
        die "Not every service became healthy: the lines above say which, and why."
    fi
    remove_unwanted
    # nginx and Varnish that were not started anew have not seen which backends there are now.
    if [ -n "$open" ]; then quietly "reload-$COMPOSE_PROJECT_NAME" containers_reload; fi
}

# The containers of profiles that are no longer in COMPOSE_PROFILES; Compose itself would let them run. A server that was
# killed leaves its sockets, and nginx and Varnish know by them which backends there are.
remove_unwanted() {
    local service
    for service in $(comm -13 <(docker compose config --services | sort) <(docker compose --profile '*' ps -a --services | sort)); do
        step "Removing $service: its profile is not in COMPOSE_PROFILES"
        quietly "rm-$COMPOSE_PROJECT_NAME" docker compose --profile '*' rm --stop --force "$service"
        docker compose exec -T varnish sh -c "rm -f /run/proscenium/$service.sock /run/proscenium/$service-*.sock"
    done
}

# Every profile: what was opened with one is closed without naming it again.
containers_down() { docker compose --profile '*' down --remove-orphans; }
containers_clean() { docker compose --profile '*' down --remove-orphans --volumes; }
containers_status() { docker compose ps --format 'table {{.Service}}\t{{.Status}}\t{{.Ports}}'; }
containers_logs() { docker compose logs --follow --tail 50; }
containers_password() { docker compose exec -T backend upstage admin-password; }
containers_locust_account() { docker compose exec -T locust python web_password.py; }
containers_running() { [ -n "$(docker compose ps -q nginx 2>/dev/null)" ]; }
# A second Locust beside the one with the web page, in the same container; its report comes out through a pipe, because
# it is written to memory there.
containers_load() {
    local code=0
    docker compose exec -T locust sh -c 'rm -rf /tmp/reports && mkdir /tmp/reports' || return
    docker compose exec -T -e LOADTEST_REPORTS=/tmp/reports locust locust "${load_run[@]}" || code=$?
    docker compose exec -T locust tar -C /tmp/reports -c . | tar -x -C "$state/load"
    return "$code"
}
containers_log() { docker compose logs --no-log-prefix --no-color --tail 1000 "$1"; }
containers_varnishlog() { docker compose exec -T varnish varnishlog -n /var/lib/varnish/varnishd "$@"; }
containers_reload() {
    docker compose exec -T varnish sh /etc/varnish/reload.sh
    docker compose exec -T nginx sh /etc/nginx/proscenium/reload.sh
}
