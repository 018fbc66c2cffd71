# shellcheck shell=sh disable=SC2154  # settings.sh and native.sh set some variables
# Where nginx listens, and where it reaches the other services: two presets. Sourced by settings.sh.
#
# ADDRESSES=sockets, the default: one engine. The services have Unix sockets in SOCKETS, a folder for each.
# ADDRESSES=tcp: several engines. Each service is a host: HOSTS, with the name of the service in place of the *.
#
# NET is native mode's: each service has an address of its own in this loopback network, and the ports that compose.yaml publishes
# are nginx's own, on BIND_ADDR.
#
# A deployment that differs in one address sets that variable itself, as extras/edge, labs/upstage and the tests do.

# host SERVICE NUMBER: prints the name of its host, or its address in NET.
host() { if [ "$NET" ]; then echo "$NET.$2"; else echo "${HOSTS%%\**}$1${HOSTS#*\*}"; fi; }

# reach SOCKET HOST:PORT: prints the address of a service, by the preset.
reach() { if [ "$ADDRESSES" = sockets ]; then echo "unix:$SOCKETS/$1.sock"; else echo "$2"; fi; }

set -a

# --- Listeners: PORT or ADDRESS:PORT. First those that are published.
if [ "$NET" ]; then
    : "${LISTEN_HTTP:=$BIND_ADDR:$HTTP_PORT}" "${LISTEN_HTTPS:=$BIND_ADDR:$HTTPS_PORT}"
    : "${LISTEN_STAGE:=$BIND_ADDR:$SWF_PORT}" "${LISTEN_THEATRES_STAGE:=$BIND_ADDR:$THEATRES_SWF_PORT}"
    : "${LISTEN_POLICY:=$BIND_ADDR:$POLICY_FILE_PORT}"
    : "${LOCUST_ADDRESS:=$BIND_ADDR:$LOCUST_PORT}" # Locust itself listens on that port
    : "${THEATRES_METRICS_ADDRESS:=*.invalid:9110}" # none are shown in native mode
fi
inside=${NET:+$NET.1:}
: "${LISTEN_HTTP:=8080}"
: "${LISTEN_HTTPS:=8443}"
: "${LISTEN_STAGE:=7230}"                      # Flash's stage socket
: "${LISTEN_THEATRES_STAGE:=7231}"             # for the first theatre; the others follow, in the order of the list
: "${LISTEN_POLICY:=3000}"                     # Flash's policy file
: "${LISTEN_OBSERVE:=9090}"                    # Prometheus, with OBSERVE_LOG; on this machine alone
: "${LISTEN_LOCUST:=${inside}8089}"            # Locust's page
: "${LISTEN_DIRECT:=${inside}8081}"            # direct.localhost: UpStage's own port, as bytes; several listeners are possible
# Listeners for Locust, without limits for one client and without a redirect: never published.
: "${LISTEN_LOAD:=${inside}8000}"              # all sites
: "${LISTEN_LOAD_PROXY:=${inside}8001}"        # crawlers, whose addresses the PROXY protocol names, with the limits of a client
: "${LISTEN_LOAD_STAGE:=${inside}17230}"
: "${LISTEN_THEATRES_LOAD_STAGE:=${inside}17231}"
: "${LISTEN_LOAD_POLICY:=${inside}13000}"
: "${LISTEN_LOAD_APP:=${inside}18000}"         # your own application alone
: "${LISTEN_LOAD_APP_NGINX:=${inside}18001}"   # the same behind nginx, without a cache
# Listeners for extras/observe: never published.
: "${LISTEN_OBSERVE_LOG:=127.0.0.1:9092}"      # UDP: nginx passes its log lines to OBSERVE_LOG
: "${LISTEN_STATUS:=9091}"                     # the number of nginx's connections

# --- Services: unix:/PATH or HOST:PORT.
# Varnish, for the default host. Several share the files (nginx/README.md): HOST HOST:PORT is one port of several hosts.
: "${VARNISH_ADDRESS:=$(reach varnish/varnish "$(host varnish 2):8084")}"
: "${VARNISH_TCP_ADDRESS:=$(host varnish 2):8080}"                                  # for classic.localhost
: "${BACKEND_ADDRESS:=$(reach backend/upstage "$(host backend 3):8081")}"           # pages and WebSockets
: "${BACKEND_STAGE_ADDRESS:=$(reach backend/upstage-stage "$(host backend 3):7230")}"
: "${BACKEND_DIRECT_ADDRESS:=$(reach backend/upstage-direct "$(host backend 3):8083")}" # for clients without a proxy
: "${BACKEND_METRICS_ADDRESS:=$(host backend 3):9110}"
: "${POLICYD_ADDRESS:=$(reach policyd/policyd "$(host policyd 4):3000")}"
: "${LOCUST_ADDRESS:=$(host locust):8089}"
: "${OBSERVE_ADDRESS:=prometheus:9090}"
: "${TRACES_ADDRESS:=exporter:9100}"
# The theatres, with a * for the name.
: "${THEATRES_ADDRESS:=$(reach '*/upstage' "$HOSTS:8081")}"
: "${THEATRES_STAGE_ADDRESS:=$(reach '*/upstage-stage' "$HOSTS:7230")}"
: "${THEATRES_METRICS_ADDRESS:=$HOSTS:9110}"
set +a

# --- Checks of the addresses that a deployment has set itself.
address='unix:/[^][:space:]"$;{}\\:]+|([0-9A-Za-z._-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}'
each='unix:/[^][:space:]"$;{}\\:*]*[*][^][:space:]"$;{}\\:*]*|[0-9A-Za-z._-]*[*][0-9A-Za-z._-]*:[0-9]{1,5}'
port='([0-9.]+:|\[[0-9A-Fa-f:.]+\]:)?[0-9]{1,5}'
for name in HTTP HTTPS STAGE THEATRES_STAGE POLICY OBSERVE LOCUST DIRECT LOAD LOAD_PROXY LOAD_STAGE THEATRES_LOAD_STAGE \
    LOAD_POLICY LOAD_APP LOAD_APP_NGINX OBSERVE_LOG STATUS; do
    check 'PORT or ADDRESS:PORT' "$port( $port)*" "LISTEN_$name="
done
for name in VARNISH_TCP BACKEND BACKEND_STAGE BACKEND_DIRECT BACKEND_METRICS POLICYD LOCUST OBSERVE TRACES; do
    check 'unix:/PATH or HOST:PORT' "$address" "${name}_ADDRESS="
done
check 'unix:/PATH or HOST:PORT, or several of them separated by spaces; HOST HOST:PORT is one port of several hosts' \
    "($address)( ($address))*|([0-9A-Za-z._-]+ )+[0-9A-Za-z._-]+:[0-9]{1,5}" VARNISH_ADDRESS=
check 'unix:/PATH or HOST:PORT, with one * for the name' "$each" THEATRES_ADDRESS= THEATRES_STAGE_ADDRESS= THEATRES_METRICS_ADDRESS=
