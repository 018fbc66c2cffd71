# shellcheck shell=sh disable=SC2034,SC2154  # other scripts set some variables, templates use some
# Fills the templates, as the official nginx image does: copies every .conf and .conf.template of this configuration to
# GENERATED_FOLDER, in the templates with each ${NAME} replaced by that setting. Sourced by start.sh and reload.sh.
# https://hub.docker.com/_/nginx (environment variables in the configuration)
set -eu
cd "$(dirname "$0")"
. scripts/settings.sh
if [ "${starting:-}" ]; then one_nginx "$GENERATED_FOLDER/lock"; fi
choose_certificate
configuration=$GENERATED_FOLDER/nginx.conf

# --- Variables that the templates need besides the settings.

# server ADDRESS: prints the `server` of an `upstream` block. nginx would resolve a host name there once, and would not start
# if that failed, so an unused socket takes its place; the maps in upstreams/ bypass the block for host names.
server() {
    case $1 in
    unix:*) echo "$1" ;;
    *[!0-9.:]*) echo unix:unused ;;
    *) echo "$1" ;;
    esac
}

# at_least VERSION: succeeds if nginx has this version or a newer one.
version=$(nginx -v 2>&1 | sed 's|.*nginx/\([0-9.]*\).*|\1|')
at_least() { [ "$(printf '%s\n' "$1" "$version" | sort -V | head -n 1)" = "$1" ]; }

# ring ADDRESSES: prints the servers of an `upstream` block that share the files. A consistent hash of the URL says which one has
# a file, so that a server that comes or goes moves only its own share.
#
# max_fails=0: nginx cannot tell a cache that is lost from one that waits for a slow page. If it left out each cache that
# a few slow pages went through, every file would be a 503. So each request to a lost cache waits for CONNECT_TIMEOUT at
# most, then goes to the next cache.
#
# resolve: since 1.27.3 nginx follows a host name by itself, from before it exists. For an older nginx, which would not
# start, an unused socket takes the place of an unknown name; and a comment names the address of a known one, so that
# reload.sh notices a new address.
# https://nginx.org/en/docs/http/ngx_http_upstream_module.html#server
ring() {
    # shellcheck disable=SC2016  # nginx's variables
    printf 'zone varnish 256k;\n    hash $host$request_uri consistent;\n'
    for address in $1; do
        server="server $address max_fails=0"
        case $(server "$address") in
        unix:unused)
            if at_least 1.27.3; then
                server="$server resolve"
            else
                found=$(getent ahostsv4 "${address%:*}" | awk '{ print $1; exit }')
                [ "$found" ] || server='server unix:unused max_fails=0'
                echo "    # ${address%:*}: ${found:-unknown}"
            fi
            ;;
        esac
        printf '    %s;\n' "$server"
    done
}

# upstream NAME ADDRESS: prints the name for `proxy_pass`: the block NAME, or the host name.
upstream() {
    case $(server "$2") in
    unix:unused) echo "$2" ;;
    *) echo "$1" ;;
    esac
}

# for_theatre PATTERN NAME: prints a setting's pattern with NAME for its *.
for_theatre() { echo "${1%%\**}$2${1#*\*}"; }

# listener LISTENER NUMBER: prints the same address with a port that is higher by the number.
listener() {
    case $1 in
    *:*) echo "${1%:*}:$((${1##*:} + $2))" ;;
    *) echo $(($1 + $2)) ;;
    esac
}

set -a
case $VARNISH_ADDRESS in
*' '*) VARNISH_SERVERS=$(ring "$VARNISH_ADDRESS") VARNISH_UPSTREAM=varnish ;;
*) VARNISH_SERVERS="server $(server "$VARNISH_ADDRESS");" VARNISH_UPSTREAM=$(upstream varnish "$VARNISH_ADDRESS") ;;
esac
# Where a hit passes, `proxy_pass` names the block itself, if it can: nginx reads a variable's value again for each request.
# shellcheck disable=SC2016  # nginx's variable
case $VARNISH_UPSTREAM in
varnish) VARNISH_PASS=varnish ;;
*) VARNISH_PASS='$varnish' ;;
esac
case $COMPARISON_NAMES in
on) COMPARISON_LISTENERS='include listeners/http.conf;' ;;
off) COMPARISON_LISTENERS="listen $LISTEN_LOAD; listen \"unix:$PREFIX/crawlers.sock\" proxy_protocol;" ;;
esac
PAGE=$(cat sites/error_page.html)
COMPARISON_SITES=$(echo "$comparison_sites" | tr ' ' '|')
BACKEND_SERVER=$(server "$BACKEND_ADDRESS")
BACKEND_STAGE_SERVER=$(server "$BACKEND_STAGE_ADDRESS")
BACKEND_DIRECT_SERVER=$(server "$BACKEND_DIRECT_ADDRESS")

# nginx/sites/default.conf.template, for the stack's own UpStage.
# Locust's own HttpUser names the site as it reaches the load port.
# shellcheck disable=SC2016  # nginx's variables: what LISTEN_LOAD is compared with
case $LISTEN_LOAD in
*:*) load_name=${LISTEN_LOAD%:*} LOAD_LISTENER='$server_addr:$server_port' ;;
*) load_name=nginx LOAD_LISTENER='$server_port' ;;
esac
default_names="localhost 127.0.0.1 [::1] $load_name $(other_names | paste -s -d ' ' -)"
UPSTAGE_NAMES=upstage.localhost APP_SERVER_NAMES="app.localhost $APP_NAMES"
case $APP_DEFAULT in
on) APP_SERVER_NAMES="$APP_SERVER_NAMES $default_names" ;;
*) UPSTAGE_NAMES="$UPSTAGE_NAMES $default_names" ;;
esac
APP_SERVER_NAMES=$(echo "$APP_SERVER_NAMES" | tr -s ' ' '\n' | awk '!seen[$0]++' | paste -s -d ' ' -) # each once
UPSTAGE_BACKEND=$(upstream backend "$BACKEND_ADDRESS")
UPSTAGE_METRICS=$BACKEND_METRICS_ADDRESS
UPSTAGE_MEDIA=$MEDIA_FOLDER
# The site tells the backend that it can send large media itself, unless it has no media folder.
MEDIA_LOCATION=/.nginx/media
[ "$MEDIA_FOLDER" != off ] || MEDIA_LOCATION=''

# app/
# nginx's resolver does not know localhost.
APP_ORIGIN=${APP%/}
case $APP_ORIGIN in *://*) ;; *) APP_ORIGIN=http://$APP_ORIGIN ;; esac
APP_UPSTREAM=${APP_ADDRESS:-$(echo "${APP_ORIGIN#http://}" | sed -E 's/^localhost(:|$)/127.0.0.1\1/; /:/!s/$/:80/')}
CLIENT_BURST=$((CLIENT_REQUESTS * 10))
DIRECT_LISTENERS=$(for each in $LISTEN_DIRECT; do listen "$each"; done)

# The name servers of this machine or container: Docker's is 127.0.0.11, Podman has one for each network.
NAME_SERVERS=${NAME_SERVERS:-$(name_servers "${RESOLV_CONF:-/etc/resolv.conf}")}
NAME_SERVERS=${NAME_SERVERS:-127.0.0.1}

# listeners/ and streams/: the ports that are published, and the proxies in front of them.
trust "$TRUSTED_PROXIES" "$PROXY_PROTOCOL"
[ "$TRUSTED_PROXIES" ] || REAL_IP_HEADER=proxy_protocol # Locust's crawlers use it
STAGE_IPV6=$(ipv6_too "$LISTEN_STAGE" || echo '#')
POLICY_LISTENERS=$(listen "$LISTEN_POLICY" "$PROXIED")
LOCUST_LISTENERS=$(listen "$LISTEN_LOCUST")

# HTTP/2 is a directive since nginx 1.25.1; before that it was a parameter of `listen`, which newer versions warn about.
if at_least 1.25.1; then
    HTTP2_PARAMETER='' HTTP2_DIRECTIVE='http2 on;'
else
    HTTP2_PARAMETER=' http2' HTTP2_DIRECTIVE=''
fi
PUBLIC_LISTENERS=$(listen "$LISTEN_HTTP" "$PROXIED" && listen "$LISTEN_HTTPS" "ssl$HTTP2_PARAMETER $PROXIED")
set +a

# --- The files.

command -v envsubst >/dev/null || die "envsubst is missing: apt-get install gettext-base"
# settings: prints the variables that `fill` replaces. nginx's own are in lower case, so envsubst leaves them alone.
settings() { env | sed -n 's/^\([A-Z][0-9A-Z_]*\)=.*/${\1}/p'; }
fill() { envsubst "$filled"; }
# write_files: fills the templates, and copies the other files with one `cp`: a program for each of a hundred files would take most
# of a start.
write_files() {
    for file in nginx.conf */*.conf */*.template; do
        case $file in # folders that depend on a setting
        cdn/*) [ "$CDN" = on ] || continue ;;
        redirect/*) [ "$HTTPS_REDIRECT" = on ] || continue ;;
        observe/*) [ "$OBSERVE_LOG" ] || continue ;;
        edge/*) [ "$MACHINES" ] || continue ;;
        app/*) [ "$APP" ] || continue ;;
        theatres/*) continue ;; # below
        esac
        case $file in
        *.template)
            [ -d "$GENERATED_FOLDER/${file%/*}" ] || mkdir -p "$GENERATED_FOLDER/${file%/*}"
            fill <"$file" >"$GENERATED_FOLDER/${file%.template}"
            ;;
        *) set -- "$@" "$file" ;;
        esac
    done
    cp -f --parents -- "$@" "$GENERATED_FOLDER"
}
for folder in cdn redirect observe edge app sites starter theatres; do rm -rf "${GENERATED_FOLDER:?}/$folder"; done
filled=$(settings)
write_files
mkdir -p "$GENERATED_FOLDER/starter"
cp -f ../starter/nginx/*.conf "$GENERATED_FOLDER/starter/" # our files include some of them
if [ "$APP" ]; then
    cp -f ../starter/nginx/headers.* "$GENERATED_FOLDER/starter/"
    write_headers "$GENERATED_FOLDER/starter" "$GENERATED_FOLDER/starter" "$APP_HEADERS"
fi

number=0
for name in $THEATRES; do
    address=$(for_theatre "$THEATRES_ADDRESS" "$name") stage_address=$(for_theatre "$THEATRES_STAGE_ADDRESS" "$name")
    set -a
    THEATRE=$name
    THEATRE_SERVER=$(server "$address") THEATRE_STAGE_SERVER=$(server "$stage_address")
    THEATRE_STAGE_UPSTREAM=$(upstream "$name" "$stage_address")
    THEATRE_LISTEN_STAGE=$(listener "$LISTEN_THEATRES_STAGE" $number)
    THEATRE_IPV6=$(ipv6_too "$THEATRE_LISTEN_STAGE" || echo '#')
    THEATRE_LISTEN_LOAD_STAGE=$(listener "$LISTEN_THEATRES_LOAD_STAGE" $number)
    UPSTAGE_NAMES=$(theatre_names "$name" | paste -s -d ' ' -)
    UPSTAGE_BACKEND=$(upstream "$name" "$address")
    UPSTAGE_METRICS=$(for_theatre "$THEATRES_METRICS_ADDRESS" "$name")
    UPSTAGE_MEDIA=$(for_theatre "$THEATRES_MEDIA_FOLDER" "$name") MEDIA_LOCATION=/.nginx/media
    set +a
    filled=$(settings)
    mkdir -p "$GENERATED_FOLDER/theatres/$name"
    cat theatres/http.conf.template sites/default.conf.template | fill >"$GENERATED_FOLDER/theatres/$name/http.conf"
    fill <theatres/stream.conf.template >"$GENERATED_FOLDER/theatres/$name/stream.conf"
    number=$((number + 1))
done

# fingerprint: prints a checksum of everything that nginx reads at startup or reload.
# (nginx -T prints neither scripts nor the files that scripts read.)
fingerprint() {
    {
        nginx -T -q -e stderr -p "$PREFIX" -c "$configuration" && cat "$CERTIFICATE" "$CERTIFICATE_KEY" &&
            find "$GENERATED_FOLDER/starter" -name 'headers.js*' -exec cat {} +
    } | cksum
}
