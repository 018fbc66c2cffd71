# shellcheck shell=sh disable=SC2034,SC2154  # render.sh uses some variables, eval assigns value
# Every setting with its default; README.md explains them. Sourced by render.sh. An invalid value ends the script with
# one line, before any file is written.

die() {
    echo "$*" >&2
    exit 1
}

set -a # exported, because envsubst reads the environment

# nginx's listeners.
LISTEN_HTTP=${LISTEN_HTTP:-8080}
LISTEN_HTTPS=${LISTEN_HTTPS:-8443}
LISTEN_LOAD=${LISTEN_LOAD:-8000}
LISTEN_STAGE=${LISTEN_STAGE:-7230}
LISTEN_LOAD_STAGE=${LISTEN_LOAD_STAGE:-17230}
LISTEN_POLICY=${LISTEN_POLICY:-3000}
LISTEN_LOAD_POLICY=${LISTEN_LOAD_POLICY:-13000}
LISTEN_LOCUST=${LISTEN_LOCUST:-8089}
LISTEN_DIRECT=${LISTEN_DIRECT:-8081}
LISTEN_OBSERVE=${LISTEN_OBSERVE:-9090}
LISTEN_OBSERVE_LOG=${LISTEN_OBSERVE_LOG:-127.0.0.1:9092}
LISTEN_STATUS=${LISTEN_STATUS:-9091}

# The addresses of the services.
VARNISH_ADDRESS=${VARNISH_ADDRESS:-unix:/run/proscenium/varnish/varnish.sock}
VARNISH_TCP_ADDRESS=${VARNISH_TCP_ADDRESS:-varnish:8080}
BACKEND_ADDRESS=${BACKEND_ADDRESS:-unix:/run/proscenium/backend/upstage.sock}
BACKEND_STAGE_ADDRESS=${BACKEND_STAGE_ADDRESS:-unix:/run/proscenium/backend/upstage-stage.sock}
BACKEND_DIRECT_ADDRESS=${BACKEND_DIRECT_ADDRESS:-unix:/run/proscenium/backend/upstage-direct.sock}
BACKEND_METRICS_ADDRESS=${BACKEND_METRICS_ADDRESS:-backend:9110}
POLICYD_ADDRESS=${POLICYD_ADDRESS:-unix:/run/proscenium/policyd/policyd.sock}
LOCUST_ADDRESS=${LOCUST_ADDRESS:-locust:8089}
OBSERVE_ADDRESS=${OBSERVE_ADDRESS:-prometheus:9090}
OBSERVE_LOG=${OBSERVE_LOG:-}
CONNECT_TIMEOUT=${CONNECT_TIMEOUT:-2s}

# Further UpStage instances. * stands for the name of each; the ports are the first one's, the others follow.
THEATRES=${THEATRES:-}
THEATRES_ADDRESS=${THEATRES_ADDRESS:-unix:/run/proscenium/*/upstage.sock}
THEATRES_STAGE_ADDRESS=${THEATRES_STAGE_ADDRESS:-unix:/run/proscenium/*/upstage-stage.sock}
THEATRES_METRICS_ADDRESS=${THEATRES_METRICS_ADDRESS:-*:9110}
THEATRES_MEDIA_FOLDER=${THEATRES_MEDIA_FOLDER:-/srv/theatres/*}
LISTEN_THEATRES_STAGE=${LISTEN_THEATRES_STAGE:-7231}
LISTEN_THEATRES_LOAD_STAGE=${LISTEN_THEATRES_LOAD_STAGE:-17231}

# Your own sites (extras/site): SITE has the name site.localhost, SITES is a list of others. Their redirects may begin with these
# addresses. SITE_ADDRESS is where the relay listens for each, with * for the name; without it nginx asks the site itself.
SITE=${SITE:-}
SITES=${SITES:-}
SITE_ADDRESS=${SITE_ADDRESS:-}
SITE_NAMES=${SITE_NAMES:-}
SITE_DEFAULT=${SITE_DEFAULT:-off}
SITE_TIMEOUT=${SITE_TIMEOUT:-60s}
SITE_MAX_UPLOAD=${SITE_MAX_UPLOAD:-100m}
LISTEN_LOAD_SITE=${LISTEN_LOAD_SITE:-18000}
LISTEN_LOAD_SITE_NGINX=${LISTEN_LOAD_SITE_NGINX:-18001}

# Folders.
MEDIA_FOLDER=${MEDIA_FOLDER:-/srv/media}
CERTIFICATE_FOLDER=${CERTIFICATE_FOLDER:-/var/tmp}
GENERATED_FOLDER=${GENERATED_FOLDER:-/etc/nginx/generated}
PREFIX=${PREFIX:-/tmp}

# Names, limits, HTTPS and a cache in front.
SERVER_NAMES=${SERVER_NAMES:-}
BIND_ADDR=${BIND_ADDR:-}
COMPARISON_NAMES=${COMPARISON_NAMES:-}
CLIENT_CONNECTIONS=${CLIENT_CONNECTIONS:-400}
CLIENT_REQUESTS=${CLIENT_REQUESTS:-300}
LOGIN_REQUESTS=${LOGIN_REQUESTS:-30}
CLIENT_STAGE_CONNECTIONS=${CLIENT_STAGE_CONNECTIONS:-1000}
# Of stage sockets, and of WebSockets, to one backend: more than the backend takes (UPSTAGE_CONNECTIONS), which shares its
# places out fairly. The sums in nginx.conf and nginx's memory limit in compose.yaml assume the default.
BACKEND_CONNECTIONS=${BACKEND_CONNECTIONS:-6500}
HTTP_PORT=${HTTP_PORT:-8080}
HTTPS_PORT=${HTTPS_PORT:-8443}
HTTPS_REDIRECT=${HTTPS_REDIRECT:-off}
CDN=${CDN:-off}
TLS_FOLDER=${TLS_FOLDER:-}
TLS_CERTIFICATE=${TLS_CERTIFICATE:-}
TLS_CERTIFICATE_KEY=${TLS_CERTIFICATE_KEY:-}

set +a

# check NAMES PATTERN MEANING: each of these settings is empty or one line that matches the extended regular expression.
newline='
'
check() {
    for name in $1; do
        eval "value=\$$name"
        case $value in
        '') ;;
        *"$newline"*) false ;;
        *) printf '%s' "$value" | grep -Eqx "$2" ;;
        esac || die "$name must be $3, not '$value'"
    done
}

listener='([0-9.]+:)?[0-9]{1,5}'
check 'LISTEN_HTTP LISTEN_HTTPS LISTEN_LOAD LISTEN_STAGE LISTEN_LOAD_STAGE LISTEN_POLICY LISTEN_LOAD_POLICY
    LISTEN_LOCUST LISTEN_OBSERVE LISTEN_STATUS LISTEN_THEATRES_STAGE LISTEN_THEATRES_LOAD_STAGE LISTEN_LOAD_SITE
    LISTEN_LOAD_SITE_NGINX' "$listener" 'PORT or ADDRESS:PORT'
check LISTEN_OBSERVE_LOG '[0-9.]+:[0-9]{1,5}' 'ADDRESS:PORT'
check LISTEN_DIRECT "$listener( $listener)*" 'PORT or ADDRESS:PORT, or several of them separated by spaces'
address='(unix:/[^][:space:]"$;{}\\:]+|[0-9A-Za-z._-]+:[0-9]{1,5})'
check 'VARNISH_TCP_ADDRESS BACKEND_ADDRESS BACKEND_STAGE_ADDRESS BACKEND_DIRECT_ADDRESS BACKEND_METRICS_ADDRESS
    POLICYD_ADDRESS LOCUST_ADDRESS OBSERVE_ADDRESS' "$address" 'unix:/PATH or HOST:PORT'
check OBSERVE_LOG 'unix:/[^][:space:]"$;{}\\,:]+' 'unix:/PATH, without a comma'
check VARNISH_ADDRESS "$address( $address)*|([0-9A-Za-z._-]+ )+[0-9A-Za-z._-]+:[0-9]{1,5}" \
    'unix:/PATH or HOST:PORT, or several of them separated by spaces; HOST HOST:PORT is one port of several hosts'
check CONNECT_TIMEOUT '[1-9][0-9]*(ms|s)' 'a time such as 300ms or 2s'
part='[^][:space:]"$;{}\\:*]*'
check 'THEATRES_ADDRESS THEATRES_STAGE_ADDRESS THEATRES_METRICS_ADDRESS SITE_ADDRESS' \
    "unix:/${part}[*]$part|[0-9A-Za-z._-]*[*][0-9A-Za-z._-]*:[0-9]{1,5}" \
    'unix:/PATH or HOST:PORT, with one * for the name'
check THEATRES_MEDIA_FOLDER '/[^"$;{}\\*]*[*][^"$;{}\\*]*' 'an absolute path with one * for the name'
check MEDIA_FOLDER '/[^"$;{}\\]*|off' 'an absolute path, or off'
check 'CERTIFICATE_FOLDER GENERATED_FOLDER PREFIX' '/[^"$;{}\\]*' 'an absolute path'
check 'CLIENT_REQUESTS LOGIN_REQUESTS' '[1-9][0-9]{0,5}' 'a whole number from 1 to 999999'
to_65535='[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]' # limit_conn's maximum, too
check 'CLIENT_CONNECTIONS CLIENT_STAGE_CONNECTIONS BACKEND_CONNECTIONS HTTP_PORT HTTPS_PORT' "$to_65535" 'a whole number from 1 to 65535'
check 'HTTPS_REDIRECT SITE_DEFAULT CDN COMPARISON_NAMES' 'on|off' 'on or off'
check THEATRES '.*' 'names separated by spaces'
host='[0-9A-Za-z_-]+([.][0-9A-Za-z_-]+)*'
host="([*]?[.])?$host|${host}[.][*]|[[][0-9A-Fa-f:]*:[0-9A-Fa-f:.]*[]]" # http://nginx.org/en/docs/http/server_names.html
check 'SERVER_NAMES SITE_NAMES' " *(($host)( +|\$))*" 'names, *.NAME, NAME.*, and addresses such as 192.0.2.7 and [2001:db8::7], separated by spaces'

# nginx, in the relay, compares no address with a certificate.
url='(http://[0-9A-Za-z._-]+|https://[0-9A-Za-z._-]*[A-Za-z][0-9A-Za-z._-]*)(:[0-9]{1,5})?/?'
check SITE "$url" 'http://HOST:PORT or https://NAME:PORT, without a path'
check SITES " *([a-z0-9-]+([.][a-z0-9-]+)*=$url( +|\$))*" \
    'NAME=http://HOST:PORT or NAME=https://HOST:PORT, or several of them separated by spaces, in lower case and without paths'
check SITE_TIMEOUT '[1-9][0-9]{0,5}[sm]' 'a time, such as 60s or 5m'
check SITE_MAX_UPLOAD '[1-9][0-9]*[kmg]?' 'a size, such as 100m'

# pair NAME VALUE NAME VALUE: both are set, or neither.
pair() { [ "${2:+set}" = "${4:+set}" ] || die "$1 and $3 belong together: set both"; }
pair TLS_CERTIFICATE "$TLS_CERTIFICATE" TLS_CERTIFICATE_KEY "$TLS_CERTIFICATE_KEY"

. scripts/theatres.sh
check_theatres
THEATRES=$(echo "$THEATRES" | awk '{ $1 = $1; print }') # one space between two names

# On loopback alone, the comparison names lead no visitor past the cache.
case $COMPARISON_NAMES:$BIND_ADDR in
:127.* | :::1 | :\[::1\] | :localhost) COMPARISON_NAMES=on ;;
:*) COMPARISON_NAMES=off ;;
esac
# site_host NAME=URL: its host name.
site_host() { case ${1%%=*} in *.*) echo "${1%%=*}" ;; *) echo "${1%%=*}.localhost" ;; esac; }
# The names of all sites, which certificate.sh needs, too.
names="upstage.localhost localhost 127.0.0.1 [::1] classic.localhost nginx.localhost static.localhost ${SITE:+site.localhost} $SITE_NAMES $SERVER_NAMES"
for name in $THEATRES; do names="$names $name.localhost"; done
count=0
for site in $SITES; do
    case " $names direct.localhost " in *" $(site_host "$site") "*) die "SITES: $(site_host "$site") is already the name of another site" ;; esac
    names="$names $(site_host "$site")" count=$((count + 1))
done
[ $count -le 9 ] || die "SITES has $count sites; at most 9 are possible"
sites=$(echo "${SITE:+site=$SITE }$SITES" | awk '{ $1 = $1; print }') # SITE is the first of them

# HOST HOST:PORT
case $VARNISH_ADDRESS in
*' '*) VARNISH_ADDRESS=$(echo "$VARNISH_ADDRESS" | awk '{
    port = $NF
    sub(/.*:/, ":", port)
    for (i = 1; i <= NF; i++) printf "%s%s%s", $i, $i ~ /:/ ? "" : port, i < NF ? " " : "\n"
}') ;;
esac
