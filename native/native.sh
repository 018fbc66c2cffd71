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
# native COMMAND ARGUMENT...: asks or changes the processes (__main__.py).
native() { "${unproxied[@]}" .venv/bin/python -m native "$@"; }

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

stack_up() {
    local service file
    for file in extras/*/compose.yaml; do
        if chosen "$file" && [ ! -e "${file%/*}/native.env" ]; then say "No ${file%/*} in native mode: it needs containers."; fi
    done
    ensure_venv native/requirements.lock
    step "Starting nginx, Varnish, the backend, policyd and Locust as processes"
    # shellcheck disable=SC2046  # numbers
    native begin $(published_ports | cut -d ' ' -f 2)
    for service in $(native services); do stack_start "$service"; done
}
stack_start() {
    local log
    if native start "$1"; then return 0; fi # 0: in a trap it would be the status before
    log=$(tail -n 20 "$NATIVE_RUN/log/$1.log")
    say "$log" >&2
    die "$1 did not become healthy."$'\n'"$1: $(reason_in "$log")"
}
stack_stop() { native stop "$1"; }
stack_down() { if stack_running; then native end; fi; }
stack_clean() { stack_down && rm -rf "$NATIVE_DATA" "$NATIVE_RUN"; }

stack_running() { [ -S "$NATIVE_RUN/supervisor.sock" ] && native answers; }
stack_exists() { stack_running; }
stack_runs() { [ -S "$NATIVE_RUN/supervisor.sock" ] && native runs "$1"; }
stack_status() { native status; }
stack_logs() { tail -n 20 -F "$NATIVE_RUN"/log/*.log; }
stack_certificate_end() { sh -c "$certificate_end" sh "$BIND_ADDR:$HTTPS_PORT"; }
# stack_ports: prints the ports of this machine that the stack has.
stack_ports() { if stack_running; then cat "$NATIVE_RUN/ports"; fi; }
stack_paths() { realpath "$1"; }
stack_varnishes() { echo varnish; }
# stack_upstage SERVICE ARGUMENTS: runs the command line of the backend or of a theatre.
stack_upstage() { native upstage "$@"; }
stack_locust_account() { (cd loadtest && ../.venv/bin/python web_password.py); }
stack_locust() {
    export "${load_variables[@]}"
    LOADTEST_REPORTS=$PWD/$1 "${unproxied[@]}" .venv/bin/python loadtest/run.py "$2"
}
stack_purge() { curl -q --noproxy '*' -fsS -o /dev/null -X PURGE -H "$(purge_header "${@:2}")" "http://$NET.2:8082$1"; }
stack_reload() {
    native folders && native nginx reload.sh test && sh "$NATIVE_RUN/varnish/reload.sh" && native nginx reload.sh || return
    # As in containers.
    if ! without locust && locust_changed_since "@$(native begun locust)"; then
        (cd loadtest && own=mine/thresholds.toml && [ ! -e $own ] || set -- --thresholds $own
            ../.venv/bin/locust --list "$@" >/dev/null) || refuse_locust || return
        stack_stop locust && stack_start locust
    fi
}
