# shellcheck shell=sh disable=SC2034,SC2154  # start.sh and settings.sh use the variables, and set others
# Where Varnish listens, and where the backends are: the presets of nginx/scripts/addresses.sh. Sourced by settings.sh.
#
# A deployment that differs in one address sets that variable itself, as extras/edge and the tests do.

case $ADDRESSES in
sockets)
    VARNISH_LISTEN_SOCKET=${VARNISH_LISTEN_SOCKET:-$SOCKETS/varnish/varnish.sock} # nginx, for the default host
    THEATRES_ADDRESS=${THEATRES_ADDRESS:-unix:$SOCKETS/*/upstage.sock}            # with a * for the name
    BACKEND_ADDRESS=${BACKEND_ADDRESS:-unix:$SOCKETS/backend/upstage.sock}
    ;;
tcp)
    VARNISH_LISTEN_NGINX=${VARNISH_LISTEN_NGINX:-:8084} # any nginx, which may keep copies for a second: for nginx alone
    THEATRES_ADDRESS=${THEATRES_ADDRESS:-$HOSTS:8081}
    BACKEND_ADDRESS=${BACKEND_ADDRESS:-${HOSTS%%\**}backend${HOSTS#*\*}:8081}
    ;;
esac
listen=${NET:+$NET.2}
VARNISH_LISTEN=${VARNISH_LISTEN:-$listen:8080}             # clients over TCP: classic.localhost, health checks
VARNISH_LISTEN_PURGE=${VARNISH_LISTEN_PURGE:-$listen:8082} # the backend, to purge; never published
VARNISH_LISTEN_CLI=${VARNISH_LISTEN_CLI:-${listen:-127.0.0.1}:8180}

# Checks of the addresses that a deployment has set itself.
check 'unix:/PATH or HOST:PORT' 'unix:/[^][:space:]"$;{}\\:]+|[0-9A-Za-z._-]+:[0-9]{1,5}' BACKEND_ADDRESS=
check 'unix:/PATH or HOST:PORT, with one * for the name' \
    'unix:/[^][:space:]"$;{}\\:*]*[*][^][:space:]"$;{}\\:*]*|[0-9A-Za-z._-]*[*][0-9A-Za-z._-]*:[0-9]{1,5}' THEATRES_ADDRESS=
check ':PORT or ADDRESS:PORT' '[0-9A-Za-z._-]*:[0-9]{1,5}' VARNISH_LISTEN= VARNISH_LISTEN_NGINX= VARNISH_LISTEN_PURGE= \
    VARNISH_LISTEN_CLI=
