# shellcheck shell=bash
# The house without an engine: the same programs with the same configuration, as processes on loopback under supervisord.
# What was a container is an address here: .1 nginx's load port, .2 varnish, .3 backend, .4 policyd. All of
# 127.0.0.0/8 is loopback on Linux, so every tier keeps its port and a second copy only needs another NATIVE_NET.

export NATIVE_NET=${NATIVE_NET:-127.42.0}
NATIVE_DATA=$PWD/$state/data
# Outside the checkout: nginx's workers and varnishd's child drop root and could not pass through a private home
# directory, and a socket's path must be short.
NATIVE_RUN=/tmp/proscenium-$(id -u)/$COMPOSE_PROJECT_NAME
REPO=$PWD
# The webcam profile, without a service of its own: the backend can listen where clients come.
case ,${COMPOSE_PROFILES:-}, in
*,webcam,*) NATIVE_FTP=tcp:$FTP_PORT:interface=$BIND_ADDR ;;
*) NATIVE_FTP= ;;
esac
# Where nginx keeps its certificate, and Varnish its doors and what it generates.
TLS_FOLDER=$NATIVE_DATA/tls VARNISH_SOCKETS=$NATIVE_RUN/sockets VARNISH_GENERATED=$NATIVE_RUN/generated/varnish
export NATIVE_DATA NATIVE_RUN REPO NATIVE_FTP TLS_FOLDER VARNISH_SOCKETS VARNISH_GENERATED
PATH=$PATH:/usr/sbin

supervisorctl() { .venv/bin/supervisorctl -c native/supervisord.conf "$@"; }

native_running() { [ -S "$NATIVE_RUN/supervisor.sock" ] && supervisorctl pid >/dev/null 2>&1; }

# The distribution packages that native mode still needs here.
missing_native_packages() {
    has nginx || echo nginx
    [ -e /etc/nginx/modules-enabled/50-mod-stream.conf ] || nginx -V 2>&1 | grep -q -- '--with-stream ' || echo libnginx-mod-stream
    has varnishd || echo varnish
    python3 -c 'import ensurepip' 2>/dev/null || echo python3-venv
}

# What makes avatars speak; without it they are silent, and all else works.
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

# The configuration as it is, with the addresses swapped.
write_native_config() {
    local nginx=$NATIVE_RUN/nginx
    mkdir -p "$NATIVE_RUN"/{generated,log,sockets} "$TLS_FOLDER" .run/logs
    [ -O "$NATIVE_RUN" ] || die "$NATIVE_RUN belongs to somebody else; COMPOSE_PROJECT_NAME chooses another place."
    chmod a+rx "${NATIVE_RUN%/*}" "$NATIVE_RUN" "$NATIVE_RUN/generated" # a strict umask has closed them
    chmod 1777 "$NATIVE_RUN/sockets" # as the containers' volume: each tier is another user there
    rm -rf "$NATIVE_RUN"/{nginx,varnish}
    cp -r nginx varnish "$NATIVE_RUN/"
    chmod -R a+rX "$NATIVE_RUN"/{nginx,varnish} # whatever umask the checkout was made with
    sed -i -e "s|/run/proscenium|$NATIVE_RUN/sockets|; s|/srv/media|$NATIVE_DATA/media|" \
        -e "s|varnish:8080|$NATIVE_NET.2:8080|; s|policyd:3000|$NATIVE_NET.4:3000|; s|locust:8089|$BIND_ADDR:$LOCUST_PORT|; s|backend:9110|$NATIVE_NET.3:9110|" "$nginx"/upstreams*.conf
    sed -i "s|8080;|$BIND_ADDR:$HTTP_PORT;|" "$nginx/listen.conf"
    sed -i "s|8443 |$BIND_ADDR:$HTTPS_PORT |" "$nginx/listen-tls.conf"
    sed -i "s|^listen |listen $NATIVE_NET.1:|" "$nginx"/listen-load*.conf
    sed -i "s|7230;|$BIND_ADDR:$SWF_PORT;|" "$nginx/listen-stage.conf"
    sed -i "s|3000;|$BIND_ADDR:$POLICY_FILE_PORT;|" "$nginx/listen-policy.conf"
    sed -i "s|8089;|$NATIVE_NET.1:8089;|" "$nginx/listen-locust.conf" # not needed here: Locust's own port is open
    sed -i "s|7231;|$BIND_ADDR:$SECOND_SWF_PORT;|" "$nginx/listen-second.conf"
}

native_up() {
    ensure_venv native/requirements.lock
    step "Starting nginx, Varnish, the backend, policyd and Locust as processes"
    if native_running; then native_down; fi
    rm -rf "$NATIVE_RUN"/{generated,sockets}
    write_native_config
    export SERVER_NAMES="${SERVER_NAMES:-} $NATIVE_NET.1"
    .venv/bin/supervisord -c native/supervisord.conf
    local service
    for service in "${native_services[@]}"; do
        # Not waited for, because it takes a second of any service: its health tells, and its log says why not.
        supervisorctl start "$service" >/dev/null &
        wait_for_native_health "$service"
    done
    wait
}

# The containers' health checks, spelled for processes: service, then the command.
native_health() {
    case $1 in
    backend) .venv/bin/python native/health.py "http://$NATIVE_NET.3:8081/health" ;;
    mirror) .venv/bin/python native/health.py "http://$NATIVE_NET.5:8081/health" ;;
    second) .venv/bin/python native/health.py "http://$NATIVE_NET.6:8081/health" ;;
    policyd) PYTHONPATH=policyd/src .venv/bin/python -m policyd check "$NATIVE_NET.4" 3000 ;;
    varnish) .venv/bin/python native/health.py "http://$NATIVE_NET.2:8080/.varnish/health" ;;
    nginx) .venv/bin/python native/health.py "http://$NATIVE_NET.1:8000/.nginx/health" ;;
    locust) .venv/bin/python native/health.py "http://$BIND_ADDR:$LOCUST_PORT/" ;;
    esac >/dev/null 2>&1
}
# In the order of their start: Varnish and nginx look which backends are there.
native_services=(backend)
for profile in mirror second; do
    case ,${COMPOSE_PROFILES:-}, in *,$profile,*) native_services+=("$profile") ;; esac
done
native_services+=(policyd varnish nginx locust)

wait_for_native_health() {
    for _ in {1..150}; do
        if native_health "$1"; then return; fi
        sleep 0.2
    done
    tail -n 20 "$NATIVE_RUN/log/$1.log" >&2
    die "$1 did not become healthy: the lines above are its last ones."
}

native_down() {
    native_running || return 0
    supervisorctl stop all >/dev/null || true # together; shutdown alone would wait for one after the other
    supervisorctl shutdown >/dev/null
    for _ in {1..100}; do
        [ -S "$NATIVE_RUN/supervisor.sock" ] || return 0
        sleep 0.1
    done
    die "supervisord did not stop within 10 seconds: $NATIVE_RUN/log/supervisord.log says why."
}
native_clean() { native_down && rm -rf "$NATIVE_DATA" "$NATIVE_RUN"; }
native_status() {
    local service
    supervisorctl status || true # its exit code speaks of stopped programs; the table already does
    for service in "${native_services[@]}"; do
        if native_health "$service"; then say "$service healthy"; else say "$service NOT healthy"; fi
    done
}
native_logs() { tail -n 20 -F "$NATIVE_RUN"/log/*.log; }
native_password() { UPSTAGE_DATA=$NATIVE_DATA/upstage PYTHONPATH=backend/src .venv/bin/python -m upstage admin-password; }
native_locust_account() {
    (cd loadtest && LOCUST_WEB_HOST=$BIND_ADDR LOCUST_WEB_PASSWORD_FILE=$NATIVE_DATA/locust-web-password ../.venv/bin/python web_password.py)
}
native_load() {
    (cd loadtest && LOADTEST_REPORTS=$REPO/$state/load LOCUST_HOST=http://$NATIVE_NET.1:8000 ../.venv/bin/locust "${load_run[@]}")
}
native_log() { tail -n 1000 "$NATIVE_RUN/log/$1.log"; }
native_varnishlog() { varnishlog -n "$NATIVE_RUN/varnish-workdir" "$@"; }
native_reload() {
    write_native_config
    sh "$NATIVE_RUN/varnish/reload.sh" "$NATIVE_NET.2"
    SERVER_NAMES="${SERVER_NAMES:-} $NATIVE_NET.1" sh "$NATIVE_RUN/nginx/reload.sh" "$NATIVE_RUN/nginx/nginx.conf" "$NATIVE_RUN"
}
