# shellcheck shell=bash
# Each command for a stack in containers.

. bin/lib/build.sh

ours=(docker ps --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME" --filter label=com.docker.compose.oneoff=False)
# container_ids [SERVICE [OPTION]]: prints the ids of the running containers of this project, or of a service; --all: stopped ones,
# too.
container_ids() { "${ours[@]}" -q ${2:-} ${1:+--filter "label=com.docker.compose.service=$1"}; }
# containers_services [OPTION]: prints the services that run, one per line; --all: that have a container.
containers_services() { "${ours[@]}" ${1:-} --format '{{.Label "com.docker.compose.service"}}' 2>/dev/null || true; }
# stack_varnishes [OPTION]: prints the Varnishes that run, one per line: one service, or several (extras/ring); --all: that have a
# container.
stack_varnishes() { containers_services "${1:---filter=status=running}" | grep -xE 'varnish(-[0-9]+)?' | sort; }
# container_exec SERVICE COMMAND...: runs the command in the service's container, in half the time of `docker compose exec`, which
# reads all its files first.
container_exec() {
    local id
    id=$(container_ids "$1" | head -n 1)
    if [ -z "$id" ]; then
        echo "$1 is not running." >&2
        return 1
    fi
    docker exec -i "$id" "${@:2}"
}

stack_up() {
    local running='' hashes service hash
    build_images
    mkdir -p .run/logs
    if stack_running; then running=yes; fi
    hashes=$(docker compose config --hash '*')
    for service in backend "${theatres[@]}"; do
        hash=$(awk -v service="$service" '$1 == service { print $2 }' <<<"$hashes")
        [ -z "$hash" ] || replace_upstage "$service" "$hash"
    done
    if [ -n "$running" ]; then renew_behind_nginx "$hashes"; fi
    step "Starting the services in the order of their health; missing images are pulled first"
    # --remove-orphans: also removes the containers of extras that are no longer chosen.
    if ! docker compose up -d --remove-orphans --wait --wait-timeout $((120 + 10 * ${#theatres[@]})) </dev/null >".run/logs/up-$COMPOSE_PROJECT_NAME.log" 2>&1; then
        tail -n 5 ".run/logs/up-$COMPOSE_PROJECT_NAME.log"
        say_why_unhealthy
    fi
    name_outdated_volumes
    # Compose re-creates a service when its settings change, not when a mounted file does.
    if [ -n "$running" ]; then quietly "reload-$COMPOSE_PROJECT_NAME" stack_reload; fi
}

# renew_behind_nginx HASHES: renews the other services first if Compose would make nginx anew: until they are healthy, the old
# nginx answers, with its 503 page at worst. (Compose would end it first, and start it last.)
renew_behind_nginx() {
    local others made
    made=$(docker inspect -f '{{index .Config.Labels "com.docker.compose.config-hash"}}' "$(container_ids nginx | head -n 1)") || return 0
    if grep -qx "nginx $made" <<<"$1"; then return; fi
    mapfile -t others < <(containers_services | grep -vx nginx | grep -xFf <(docker compose config --services))
    [ ${#others[@]} -gt 0 ] || return 0
    step "Renewing what is behind nginx"
    docker compose up -d --no-deps --wait --wait-timeout 120 "${others[@]}" >".run/logs/behind-$COMPOSE_PROJECT_NAME.log" 2>&1 </dev/null ||
        say "Not all of it is healthy yet."
}

# replace_upstage SERVICE HASH: replaces the container if Compose would make it anew, because HASH is no longer that of its settings
# or its image has been built again. Starts the new one beside the old one, and ends the old one when the new one has started and
# waits for the data: so visitors wait for the change alone, not for a container and for Python. If the new one cannot start, the
# old one goes on.
replace_upstage() {
    local service=$1 old new made image log='' started='"event": "(waits for the data|ready)"' beside=(up -d --no-deps --no-recreate --scale "$1=2" "$1")
    old=$(container_ids "$service" --filter=status=running)
    if [[ ! $old || $old == *$'\n'* ]] || without upstage; then return; fi
    made=$(docker inspect -f '{{index .Config.Labels "com.docker.compose.config-hash"}} {{.Image}} {{.Config.Image}}' "$old")
    image=${made##* }
    [ "$made" != "$2 $(docker image inspect -f '{{.Id}}' "$image") $image" ] || return 0
    step "Starting the new $service beside the old one"
    if ! docker compose "${beside[@]}" >".run/logs/beside-$COMPOSE_PROJECT_NAME.log" 2>&1 </dev/null; then
        # Such as a port of your own that two cannot have: Compose then ends the old one first.
        container_ids "$service" --all | grep -vxF "$old" | xargs -r docker rm --force >/dev/null
        return
    fi
    new=$(container_ids "$service" --all | grep -vxF "$old")
    for _ in {1..120}; do
        log=$(docker logs "$new" 2>&1)
        if [[ $log =~ $started ]]; then break; fi
        sleep 0.25
        [ "$(docker inspect -f '{{.State.Running}} {{.RestartCount}}' "$new")" = 'true 0' ] || break
    done
    if [[ ! $log =~ $started ]]; then
        docker rm --force "$new" >/dev/null
        die "The new $service does not start, and the old one goes on: $(reason_in "$log")"
    fi
    docker stop "$old" >/dev/null
    docker rm "$old" >/dev/null
}
# name_outdated_volumes: says which volumes another version of this checkout has made with other options. Compose leaves them:
# making them again removes their data.
name_outdated_volumes() {
    local names
    names=$(sed -n "s/.*Volume \"\([^\"]*\)\" exists but doesn't match.*/\1/p" ".run/logs/up-$COMPOSE_PROJECT_NAME.log" | sort -u | xargs)
    [ -z "$names" ] || say "Made otherwise by another version: ${names// /, }. To make them again, type: make backup," \
        "make down, docker volume rm $names, make up (and make restore if they held data)"
}

# Prints the last lines of the services that have failed, not of those that wait for them or have no health check, and at
# the end the reasons.
say_why_unhealthy() {
    local service failed log check reasons=''
    name_outdated_volumes
    mapfile -t failed < <(docker compose ps -a --format '{{.Service}} {{.State}} {{.Health}}' |
        awk '$2 != "created" && ($3 != "healthy" || $2 == "paused") && !($2 == "running" && NF == 2) { print $1 }')
    for service in "${failed[@]}"; do
        if [ -n "$(container_ids "$service" --filter=status=paused)" ]; then
            reasons+=$'\n'"$service is paused. Type: docker compose unpause $service"
            continue
        fi
        step "$service"
        log=$(docker compose logs --no-log-prefix --tail 20 "$service" 2>&1) || true
        say "$log"
        check=$(docker inspect -f '{{with .State.Health}}{{range .Log}}{{if .ExitCode}}{{println .Output}}{{end}}{{end}}{{end}}' "$(container_ids "$service" --all | head -n 1)" | grep . | tail -n 1) || true
        reasons+=$'\n'"$service: $(reason_in "$log")${check:+; its health check: $check}"
    done
    [ -n "$reasons" ] || die "Compose could not start the services: $(tail -n 1 ".run/logs/up-$COMPOSE_PROJECT_NAME.log")"
    die "${failed[*]} did not become healthy.$reasons"
}

# stack_down [OPTION...]: removes the containers and networks; stack_clean: the volumes, too. Extras and theatres that are no longer
# chosen may have left some that no file in use names.
stack_down() {
    quietly "down-$COMPOSE_PROJECT_NAME" docker compose down --remove-orphans "$@"
    left network | xargs -r docker network rm >/dev/null
}
stack_clean() {
    stack_down --volumes
    stack_volumes | xargs -r docker volume rm >/dev/null
}
left() { docker "$1" ls -q --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME" 2>/dev/null || true; }
stack_volumes() { left volume; }
# is_left_out SERVICE: succeeds if the service has no container by choice (scale: 0).
is_left_out() {
    case $1 in
    backend | mirror) [ "$1" != "$(active_server)" ] || without upstage ;;
    policyd | locust) without "$1" ;;
    *) false ;;
    esac
}
# stack_status: lists the services, also those that have ended; fails if one is missing or does not run as it should, and says what
# to type.
stack_status() {
    local wrong code=0
    docker compose ps -a --format 'table {{.Service}}\t{{.Status}}\t{{.Ports}}'
    # The alerts that are on (extras/observe). The exporter has the Python to read Prometheus' answer.
    if containers_services | grep -qx prometheus; then container_exec exporter python -m exporter.alerts || code=1; fi
    wrong=$({
        docker compose ps -a --format '{{.Service}} {{.State}} {{.Health}}' &&
            docker compose config --services | while read -r service; do is_left_out "$service" || echo "$service expected"; done
    } | awk -f bin/lib/status.awk) || return
    [ -z "$wrong" ] || { say "$wrong" && return 1; }
    return $code
}
stack_certificate_end() { container_exec nginx sh -c "$certificate_end" sh 127.0.0.1:8443; }
stack_logs() { docker compose logs --follow --tail 50; }
# stack_upstage SERVICE ARGUMENTS: runs the command line of the backend or of a theatre.
stack_upstage() { container_exec "$1" upstage "${@:2}"; }
stack_locust_account() { container_exec locust python web_password.py; }
# stack_ports: prints the ports of this machine that the stack has.
stack_ports() {
    container_ids 2>/dev/null |
        xargs -r docker inspect -f '{{range .NetworkSettings.Ports}}{{range .}}{{println .HostPort}}{{end}}{{end}}
            {{- if eq .HostConfig.NetworkMode "host"}}{{range .Config.Env}}{{println .}}{{end}}{{end}}' |
        sed 's/^PURGE=.*://; /=/d' || true # PURGE: extras/app/host.yaml
}
stack_exists() { [ -n "$(container_ids '' --all 2>/dev/null)" ]; }
stack_runs() { [ -n "$(container_ids "$1" --filter=status=running 2>/dev/null)" ]; }
stack_running() { stack_runs nginx; }
# stack_locust FOLDER KIND: runs a second Locust in the container of the first. A pipe brings its report out: `docker cp` cannot
# read a tmpfs. On a terminal Ctrl-C ends Locust, and its report still comes.
stack_locust() {
    local code=0 terminal=-T name variables=()
    if [ -t 0 ] && [ -t 1 ]; then terminal=; fi
    for name in "${load_variables[@]}"; do variables+=(-e "$name=${!name:-}"); done
    # shellcheck disable=SC2086  # no option on a terminal
    docker compose exec $terminal -e LOADTEST_REPORTS=/tmp/reports "${variables[@]}" locust python run.py "$2" || code=$?
    [ "$code" != 64 ] || return "$code"
    rm -rf "$1" && mkdir -p "$1" # a run that fails before it writes a report does not leave the previous one behind
    container_exec locust tar -C /tmp/reports -c . | tar -x -C "$1"
    return "$code"
}
# stack_purge PATH [--tag TAG | --all]: asks each Varnish, in its container, to purge: for a stack without UpStage, whose command
# purges otherwise, and for all copies.
stack_purge() {
    local varnish
    for varnish in $(stack_varnishes); do
        container_exec "$varnish" curl -fsS -o /dev/null -X PURGE -H "$(purge_header "${@:2}")" "http://127.0.0.1:8082$1" || return
    done
}
# stack_paths FILE: brings a file to Locust and its workers; prints where it is there.
stack_paths() {
    local id
    for id in $(container_ids locust) $(container_ids locust-worker); do
        docker exec -i "$id" sh -c 'cat >/tmp/paths' <"$1" || return
    done
    echo /tmp/paths
}
stack_reload() { reload_servers 2>&1 | name_own_files && restart_changed_locust; }
# reload_servers: reloads Varnish and nginx, both or neither: a mistake in nginx's files is found before Varnish changes.
reload_servers() {
    local varnish
    container_exec nginx sh /etc/nginx/proscenium/reload.sh test || return
    for varnish in $(stack_varnishes); do
        container_exec "$varnish" sh /etc/varnish/reload.sh || return
    done
    container_exec nginx sh /etc/nginx/proscenium/reload.sh
}
# name_own_files: prints a server's messages, with the files' names as they are here.
name_own_files() {
    local templates
    templates=$(find nginx starter -name '*.template' | sed 's/[.]template$//; s/.*/s|&|\&.template|g/')
    sed -e "s|/etc/nginx/certificates|${TLS_FOLDER:-certificates}|g" -f bin/lib/own_files.sed -e "$templates"
}
# restart_changed_locust: restarts Locust, which reads its files once, if one has changed, and its workers, which need the same
# classes.
restart_changed_locust() {
    local ids started
    mapfile -t ids < <(container_ids locust && container_ids locust-worker)
    [ ${#ids[@]} -gt 0 ] || return 0
    started=$(docker inspect -f '{{.State.StartedAt}}' "${ids[@]}" | sort | head -n 1)
    if locust_changed_since "$started"; then
        # shellcheck disable=SC2016  # the container's shell expands it
        container_exec locust sh -c 'own=mine/thresholds.toml; [ ! -e $own ] || set -- --thresholds $own
            locust --list "$@" >/dev/null' || refuse_locust || return
        docker restart -t 5 "${ids[@]}"
    fi
}
