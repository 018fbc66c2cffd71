#!/bin/sh
# run.sh nginx|varnish|backend|policyd|locust: the first program of each container. It waits for the files of the
# checkout on this node (distribute.sh), and starts the service with them. While nginx or Varnish runs, it looks once a
# second whether there are other files, or whether names mean other addresses, and reloads the service then.
set -eu
service=$1
files=/etc/proscenium/current
# Without a name server of its own to ask, an engine does not answer at all for a name that it does not know.
export RES_OPTIONS="timeout:1 attempts:2"

# A secret is named after the setting that it is for, unless the user has set that.
for secret in /run/secrets/*; do
    name=${secret##*/}
    case $name in
    *[!A-Z_]* | '') ;;
    *) eval "[ \"\${$name:-}\" ]" || export "$name=$(cat "$secret")" ;;
    esac
done

until [ -e "$files" ]; do sleep 0.2; done

# addresses NAME: those behind it now. The name server answers in random order.
addresses() { getent ahostsv4 "$1" | awk '$2 == "STREAM" { print $1 }' | sort; }

# --- nginx: the list of Varnishes.

# shards: a line "NAME ADDRESS" for each Varnish. The service's name means all of their addresses; the name behind an
# address has the number of the task, which is also in the container's host name: proscenium_varnish.2.… is varnish-2.
shards() {
    for address in $(addresses varnish); do
        getent hosts "$address" | sed -n "s/^.*_varnish\.\([0-9]*\)\..*/varnish-\1 $address/p"
    done | sort
}

# list LINES: as VARNISH_ADDRESS. Without a Varnish the name of the service remains, and a single one has its address
# there: to nginx a single name is not a list (nginx/upstreams/http.conf.template).
list() {
    case $(echo "$1" | grep -c .) in
    0) echo varnish:8083 ;;
    1) echo "${1#* }:8083" ;;
    *) echo "$1" | sed 's/ .*/:8083/' | paste -s -d ' ' - ;;
    esac
}

nginx_addresses() { if [ "$VARNISH_ADDRESS" = shards ]; then shards; fi; }
nginx_run() {
    if [ "$VARNISH_ADDRESS" = shards ]; then VARNISH_ADDRESS=$(list "$2"); fi
    exec sh "$files/nginx/$1.sh"
}

# --- Varnish: the addresses of the backends.

# shellcheck disable=SC2046  # several addresses
varnish_addresses() {
    for name in "${BACKEND_ADDRESS%:*}" ${THEATRES:-}; do echo "$name" $(addresses "$name"); done
}
varnish_run() {
    case $1 in
    start)
        # A line for each request, in the log of the service.
        { until sh "$files/varnish/inspect.sh"; do sleep 1; done; } &
        exec sh "$files/varnish/start.sh"
        ;;
    reload)
        # It looks the names up again, which may fail: then the next second brings another attempt.
        sh "$files/varnish/reload.sh" &&
            [ "$(echo "$2" | grep -vc ' ')" = "$(cat /tmp/varnish/*.vcl | grep -c ' none;$')" ]
        ;;
    esac
}

# --- Both.

# report VERSION [PROBLEM]: for distribute.sh, as one line.
report() {
    echo "$*" >"/run/loaded/.$HOSTNAME"
    mv "/run/loaded/.$HOSTNAME" "/run/loaded/$HOSTNAME"
}

# shellcheck disable=SC2086  # several lines become one
# watch VERSION ADDRESSES: reloads the service when one of them is another.
watch() {
    version=$1 known=$2
    while sleep 1; do
        new=$(readlink "$files") found=$("${service}_addresses")
        if [ "$new $found" = "$version $known" ]; then
            report "$version"
            continue
        fi
        report "$version" # still; the new files may take a while
        if problem=$("${service}_run" reload "$found" 2>&1); then
            version=$new known=$found
            echo "reloaded: files $version, addresses" $known
        else
            echo "not reloaded:" $problem
            [ "$new" = "$version" ] || report "$new "$problem
        fi
    done
}

case $service in
nginx | varnish)
    HOSTNAME=$(hostname) version=$(readlink "$files") found=$("${service}_addresses")
    watch "$version" "$found" &
    "${service}_run" start "$found"
    ;;
backend)
    # The password of the account for Locust's players; both have it from the same secret.
    if [ "${LOADTEST_PASSWORD:-}" ]; then (umask 077 && echo "load:$LOADTEST_PASSWORD" >"$UPSTAGE_LOAD_ACCOUNT_FILE"); fi
    exec upstage serve
    ;;
policyd) exec python -m policyd --port 3000 --file "$files/policyd/flashpolicy.xml" ;;
locust) exec sh "$files/loadtest/start.sh" ;;
esac
