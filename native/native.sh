# shellcheck shell=bash
# The stack without an engine: the same programs with the same configuration, as processes on loopback under supervisord.

NATIVE_NET=${NATIVE_NET:-127.42.0}
NATIVE_DATA=$PWD/$state/data
# nginx's workers give up root and read the media, which are elsewhere if others may not enter the checkout,
# as in root's home.
if [ "$EUID" = 0 ] && has setpriv && ! setpriv --reuid=65534 --clear-groups test -x "$PWD"; then
    NATIVE_DATA=/var/lib/proscenium/$COMPOSE_PROJECT_NAME
fi
# Outside the checkout: nginx's workers and varnishd's child give up root and could not enter a private home folder, and
# a Unix socket's path must be short.
NATIVE_RUN=/tmp/proscenium-$EUID/$COMPOSE_PROJECT_NAME
export NATIVE_NET NATIVE_DATA NATIVE_RUN
PATH=$PATH:/usr/sbin

# Exports the addresses, in native mode only: Compose would take SERVER_NAMES for the user's.
native_environment() {
    local file
    set -a
    . native/addresses.env
    if [ -n "${TLS_CERTIFICATE:-}" ]; then TLS_FOLDER=$(cd "$TLS_FOLDER" && pwd); fi
    for file in extras/*/native.env; do
        # shellcheck source=/dev/null
        if chosen "${file%/*}/compose.yaml"; then . "$file"; fi
    done
    set +a
}
# native_services: prints the services in the order of their start.
native_services() {
    local service
    for service in backend $THEATRES policyd varnish nginx locust ${CAMERA_SERVER:+camera}; do
        without "${service/#backend/upstage}" || echo "$service"
    done
}

supervisorctl() { .venv/bin/supervisorctl -c native/supervisord.conf "$@"; }

stack_runs() { supervisorctl status "$1" 2>/dev/null | grep -q RUNNING; }
stack_exists() { stack_running; }
stack_running() { [ -S "$NATIVE_RUN/supervisor.sock" ] && supervisorctl pid >/dev/null 2>&1; }

# missing_native_packages: prints the distribution packages that this machine lacks for native mode.
missing_native_packages() {
    has nginx || echo nginx
    [ -e /usr/lib/nginx/modules/ngx_http_js_module.so ] || echo libnginx-mod-http-js # for an application of your own
    [ -e /usr/lib/nginx/modules/ngx_stream_module.so ] || nginx -V 2>&1 | grep -q -- '--with-stream ' || echo libnginx-mod-stream
    has varnishd || echo varnish
    has envsubst || echo gettext-base
    python3 -c 'import ensurepip' 2>/dev/null || echo python3-venv
}

# missing_voice_packages: prints those that it lacks for speech synthesis, which is optional: without it avatars are silent.
missing_voice_packages() {
    has espeak-ng || echo espeak-ng
    has lame || echo lame
}

ensure_native_programs() {
    local missing voice
    mapfile -t missing < <(missing_native_packages)
    mapfile -t voice < <(missing_voice_packages)
    if may_install; then
        missing+=("${voice[@]}")
    elif [ ${#missing[@]} = 0 ] && [ ${#voice[@]} -gt 0 ]; then
        say "The avatars will not speak. To give them voices, type: sudo apt-get install ${voice[*]}"
    fi
    if [ ${#missing[@]} -gt 0 ]; then
        may_install || die "${engine_reason:+There is no engine ($engine_reason) and }native mode needs ${missing[*]}. Type: sudo make up, or sudo apt-get install ${missing[*]}"
        step "Installing ${missing[*]} from this distribution's packages"
        install_packages "${missing[@]}"
    fi
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || die "Native mode needs Python 3.11 or newer; this is $(python3 -V)."
}

# Makes the folders. Varnish's files are copied: varnishd reads them as another user, who may not enter the checkout.
prepare_native_folders() {
    mkdir -p "$NATIVE_RUN/log" "$GENERATED_FOLDER" "$CERTIFICATE_FOLDER" .run/logs
    [ -O "$NATIVE_RUN" ] || die "$NATIVE_RUN belongs to another user; COMPOSE_PROJECT_NAME chooses another folder."
    chmod a+rx "${NATIVE_RUN%/*}" "$NATIVE_RUN" "$GENERATED_FOLDER" # also under a strict umask
    for service in backend $THEATRES policyd varnish; do
        mkdir -p "$SOCKETS/$service"
        chmod 1777 "$SOCKETS" "$SOCKETS/$service" # like the containers' volumes, where each program runs as another user
    done
    rm -rf "$NATIVE_RUN/varnish" "$NATIVE_RUN/starter"
    cp -r varnish starter "$NATIVE_RUN/"
    chmod -R a+rX "$NATIVE_RUN/varnish" "$NATIVE_RUN/starter"
}

stack_up() {
    local service file
    for file in extras/*/compose.yaml; do
        if chosen "$file" && [ ! -e "${file%/*}/native.env" ]; then say "No ${file%/*} in native mode: it needs containers."; fi
    done
    ensure_venv native/requirements.lock
    step "Starting nginx, Varnish, the backend, policyd and Locust as processes"
    if stack_running; then stack_down; fi
    prepare_native_folders
    native_programs >"$NATIVE_RUN/programs.conf"
    published_ports | cut -d ' ' -f 2 >"$NATIVE_RUN/ports"
    "${unproxied[@]}" .venv/bin/supervisord -c native/supervisord.conf # fails if another `make up` was quicker
    find "$GENERATED_FOLDER" -mindepth 1 -delete # of the last run
    find "$SOCKETS" -type s -delete
    for service in $(native_services); do
        stack_start "$service"
    done
    wait
}

# native_programs: prints the services' part of supervisord.conf.
native_programs() {
    local service
    for service in $(native_services); do
        cat <<END
[program:$service]
command=sh native/run.sh %(program_name)s
autostart=false
redirect_stderr=true
stdout_logfile=%(ENV_NATIVE_RUN)s/log/%(program_name)s.log
stdout_logfile_maxbytes=5MB
stdout_logfile_backups=1

END
    done
}

# native_health SERVICE: checks a process as the health check of its container does.
native_health() {
    case $1 in
    camera) PYTHONPATH=backend/src .venv/bin/python -m upstage.camera check ;;
    policyd) PYTHONPATH=policyd/src .venv/bin/python -m policyd check "$NATIVE_NET.4" 3000 ;;
    varnish) answers "http://$NET.2:8080/.varnish/health" "$SOCKETS/varnish/varnish.sock" ;;
    nginx) answers "http://$NET.1:8000/.nginx/health" ;;
    locust) answers "http://$BIND_ADDR:$LOCUST_PORT/" ;;
    *) sh native/run.sh "$1" healthcheck ;; # a backend
    esac >/dev/null 2>&1
}
answers() { .venv/bin/python native/health.py "$@"; }

wait_for_native_health() {
    local log
    for _ in {1..150}; do
        if native_health "$1"; then return 0; fi # 0: in a trap it would be the status before
        sleep 0.2
    done
    log=$(tail -n 20 "$NATIVE_RUN/log/$1.log")
    say "$log" >&2
    die "$1 did not become healthy."$'\n'"$1: $(reason_in "$log")"
}

stack_down() {
    stack_running || return 0
    supervisorctl stop all >/dev/null || true # all at once; shutdown alone stops them one after another
    supervisorctl shutdown >/dev/null
    for _ in {1..100}; do
        [ -S "$NATIVE_RUN/supervisor.sock" ] || return 0
        sleep 0.1
    done
    die "supervisord did not stop within 10 seconds: $NATIVE_RUN/log/supervisord.log says why."
}
stack_clean() { stack_down && rm -rf "$NATIVE_DATA" "$NATIVE_RUN"; }
stack_certificate_end() { sh -c "$certificate_end" sh "$BIND_ADDR:$HTTPS_PORT"; }
stack_status() {
    local service code=0
    supervisorctl status || true # it fails if a program has stopped, which the table shows too
    for service in $(native_services); do
        if native_health "$service"; then say "$service healthy"; else say "$service NOT healthy. Type: make up" && code=1; fi
    done
    return $code
}
stack_logs() { tail -n 20 -F "$NATIVE_RUN"/log/*.log; }
# stack_ports: prints the ports of this machine that the stack has.
stack_ports() { if stack_running; then cat "$NATIVE_RUN/ports"; fi; }
# stack_upstage SERVICE ARGUMENTS: runs the command line of the backend or of a theatre.
stack_upstage() { sh native/run.sh "$@"; }
stack_aside() { stack_upstage "$@"; }
stack_stop() { supervisorctl stop "$1" || true; } # one that has failed does not run
stack_start() {
    supervisorctl start "$1" >/dev/null & # takes at least a second; the health check is quicker
    wait_for_native_health "$1"
}
stack_locust_account() { (cd loadtest && ../.venv/bin/python web_password.py); }
stack_locust() { (export LOADTEST_REPORTS=$PWD/$1 && cd loadtest && "${unproxied[@]}" ../.venv/bin/locust "${@:2}"); }
stack_purge() { curl -q --noproxy '*' -fsS -o /dev/null -X PURGE -H "$(purge_header "${@:2}")" "http://$NET.2:8082$1"; }
stack_paths() { realpath "$1"; }
stack_varnishes() { echo varnish; }
native_varnishtest() { (cd "$1" && TMPDIR=$PWD varnishtest -k -j 2 -t 24 "${@:2}" 2>&1 | grep "^# .* TEST "); }
# native_started: prints the services that run, each with its process id: a new one is as good a sign of a restart as a start time.
# (status fails if a process is stopped.)
native_started() { { supervisorctl status || true; } | awk '$2 == "RUNNING" { print $1, $4 }'; }
native_nginx_loaded() { PATH=$PWD/native/bin:$PATH sh nginx/loaded.sh; }
stack_reload() {
    local nginx_reload=(env PATH="$PWD/native/bin:$PATH" sh nginx/reload.sh)
    prepare_native_folders && "${nginx_reload[@]}" test && sh "$NATIVE_RUN/varnish/reload.sh" && "${nginx_reload[@]}" || return
    # As in containers.
    if ! without locust && locust_changed_since "$(ps -o lstart= -p "$(supervisorctl pid locust)")"; then
        (cd loadtest && own=mine/thresholds.toml && [ ! -e $own ] || set -- --thresholds $own
            ../.venv/bin/locust --list "$@" >/dev/null) || refuse_locust || return
        supervisorctl restart locust
    fi
}
