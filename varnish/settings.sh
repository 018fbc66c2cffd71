# shellcheck shell=sh disable=SC2034,SC2154  # start.sh and reload.sh use some variables; eval assigns value
# Every setting with its default (README.md explains them), and the VCL that depends on them.

die() {
    echo "$*" >&2
    exit 1
}

folder=$(cd "$(dirname "$0")" && pwd)
starter=${folder%/*}/starter # its analytics.vcl is part of normalise.vcl, and its default.vcl of site.vcl

# The name of this Varnish in Cache-Status: a ring has several. Readers of the header recognise them by the
# first word.
identity=${VARNISH_NAME:-varnish}

# varnishd's listeners: ADDRESS:PORT, or :PORT for all addresses.
listen=${VARNISH_LISTEN:-:8080}
listen_socket=${VARNISH_LISTEN_SOCKET:-/run/proscenium/varnish/varnish.sock}
listen_nginx=${VARNISH_LISTEN_NGINX:-}
listen_purge=${VARNISH_LISTEN_PURGE:-:8082}
listen_site_purge=${VARNISH_LISTEN_SITE_PURGE:-} # also a socket: /PATH
listen_cli=${VARNISH_LISTEN_CLI:-127.0.0.1:8180}

# The addresses of the backends: unix:/PATH or HOST:PORT.
backend_address=${BACKEND_ADDRESS:-unix:/run/proscenium/backend/upstage.sock}

# Further UpStage instances, separated by spaces; * stands for the name of each.
theatres=${THEATRES:-}
theatres_address=${THEATRES_ADDRESS:-unix:/run/proscenium/*/upstage.sock}

# Your own sites (extras/site), as nginx knows them (nginx/scripts/settings.sh). An empty health path means no health check.
first_site=${SITE:-}
sites=${SITES:-}
site_address=${SITE_ADDRESS:-}
site_health=${SITE_HEALTH:-}
site_timeout=${SITE_TIMEOUT:-60s}
site_rules=${SITE_RULES:-/etc/site/rules.vcl}
site_recipe=${SITE_RECIPE:-}
site_ignore_cookies=${SITE_IGNORE_COOKIES:-}
site_ignore_arguments=${SITE_IGNORE_ARGUMENTS:-}

storage=${VARNISH_STORAGE:-malloc,128m}
workdir=${VARNISH_WORKDIR:-/var/lib/varnish/varnishd}
generated=${VARNISH_GENERATED:-/tmp/varnish}
secret=$generated/secret

# check NAMES PATTERN MEANING: each of these settings is empty or one line that matches the extended regular expression.
newline='
'
check() {
    for name in $1; do
        eval "value=\${$name:-}"
        case $value in
        '') ;;
        *"$newline"*) false ;;
        *) printf '%s' "$value" | grep -Eqx "$2" ;;
        esac || die "$name must be $3, not '$value'"
    done
}
check VARNISH_NAME 'varnish(-[a-z0-9.]+)*' 'varnish, or varnish- and a word such as varnish-2'
check 'VARNISH_LISTEN VARNISH_LISTEN_NGINX VARNISH_LISTEN_PURGE VARNISH_LISTEN_CLI' '[0-9A-Za-z._-]*:[0-9]{1,5}' ':PORT or ADDRESS:PORT'
address='unix:/[^[:space:]"\\:]+|[0-9A-Za-z._-]+:[0-9]{1,5}'
check BACKEND_ADDRESS "$address" 'unix:/PATH or HOST:PORT'
check VARNISH_LISTEN_SITE_PURGE '/[^[:space:]"\\:,]+|[0-9A-Za-z._-]+:[0-9]{1,5}' '/PATH or ADDRESS:PORT'
check SITE_HEALTH '/[0-9A-Za-z._~/?=%-]*' 'a path, such as /health'
check SITE_TIMEOUT '[1-9][0-9]{0,5}[sm]' 'a time, such as 60s or 5m'
check 'SITE_IGNORE_COOKIES SITE_IGNORE_ARGUMENTS' ' *([0-9A-Za-z_.*-]+ *)*' 'names separated by spaces, in which * stands for any characters'
recipes=$(find "$starter/recipes" -name '*.vcl' 2>/dev/null | sed 's|.*/||; s|[.]vcl||' | sort | paste -s -d '|' -)
check SITE_RECIPE "$recipes" "one of starter/recipes ($recipes)"
check VARNISH_STORAGE '(malloc|file,/[^,[:space:]]+),[0-9]+[kKmMgG]?' 'malloc,SIZE or file,/PATH,SIZE, such as malloc,128m'
check THEATRES '[a-z0-9 -]*' 'names of lower-case letters, digits and hyphens'
check 'SITE SITES' '[0-9A-Za-z._:/= -]*' 'http://HOST:PORT; NAME=http://HOST:PORT, separated by spaces'
check 'THEATRES_ADDRESS SITE_ADDRESS' 'unix:/[^[:space:]"\\:*]*[*][^[:space:]"\\:*]*|[0-9A-Za-z._-]*[*][0-9A-Za-z._-]*:[0-9]{1,5}' \
    'unix:/PATH or HOST:PORT, with one * for the name'
check SITE_RULES '/.*' 'an absolute path'
check 'VARNISH_LISTEN_SOCKET VARNISH_WORKDIR VARNISH_GENERATED' '/[^[:space:]"\\:,]+' 'an absolute path without spaces'

sites=$(echo "${first_site:+site=$first_site }$sites" | awk '{ $1 = $1; print }')

# Each load has its own name: the running version stays until the next one has compiled.
stamp=$(date +%Y-%m-%d_%H-%M-%S)_$$
classic=classic_$stamp
site=site_$stamp
default=default_$stamp

# in_vcl ADDRESS: Varnish looks a host name up once, when the VCL is loaded; a path stays valid when the backend's container
# comes back at another address. https://varnish-cache.org/docs/7.1/reference/vcl-backend.html
in_vcl() {
    case $1 in
    unix:*) echo ".path = \"${1#unix:}\";" ;;
    *) echo ".host = \"${1%:*}\"; .port = \"${1##*:}\";" ;;
    esac
}

# declare_backend NAME ADDRESS LIMITS: an UpStage.
declare_backend() {
    cat <<END
backend $1 {
    $(in_vcl "$2")
    include "$3";
    include "probe.vcl";
}
END
}

# declare_theatre NAME: its backend, and the rule that chooses it. The cache key contains the host, so theatres share the
# cache but no object. nginx lets no other host name through that begins with NAME (nginx/scripts/theatres.sh).
declare_theatre() {
    declare_backend "theatre_$1" "${theatres_address%%\**}$1${theatres_address#*\*}" theatre_limits.vcl
    cat <<END
sub vcl_recv {
    if (req.http.Host ~ "(?i)^$1(\.|$)") {
        set req.backend_hint = theatre_$1;
    }
}
END
}

# declare_site NAME=URL: the application, its health check if it has one, and the rule that chooses it. It may take as long as it
# likes to answer, so it gets fewer connections, as a theatre does (theatre_limits.vcl): all sites together may have 100. The key of
# the cache has the host, so they share no object; a purge of a whole address is for one of them, that of a path for all (site.vcl).
declare_site() {
    name=${1%%=*} number=$((number + 1))
    case $name in *.*) host=$name ;; *) host=$name.localhost ;; esac
    address=$(echo "${1#*=http://}" | sed 's|/$||; /:/!s/$/:80/')
    [ -z "$site_address" ] || address=${site_address%%\**}$name${site_address#*\*}
    cat <<END
backend application_$number {
    $(in_vcl "$address")
    .host_header = "$host";
    .connect_timeout = 2s;
    .first_byte_timeout = $site_timeout;
    .between_bytes_timeout = $site_timeout;
    .max_connections = $((100 / $(echo "$sites" | wc -w)));
    $([ -z "$site_health" ] || sed "s|/health|$site_health|" "$folder/probe.vcl")
}
sub vcl_recv {
    if (req.http.X-Site == "$name") { set req.backend_hint = application_$number; }
    if (local.socket == "purge_site" && req.http.Host ~ "(?i)^$host(:|$)") {
        set req.url = req.url + " && obj.http.X-Site == application_$number";
    }
}
END
}

# also_ignored NAMES: a further alternative for an expression of analytics.vcl, as sed writes it.
also_ignored() { printf '%s' "$1" | sed 's/^ *//; s/ *$//; s/[.]/[.]/g; s/[*]/[^=;\\&]*/g; s/  */|/g; s/^./|&/'; }

# write_vcl: the files that differ from one deployment to another. vcl_path names their folder first.
write_vcl() {
    mkdir -p "$generated"
    declare_backend upstage "$backend_address" limits.vcl >"$generated/backends.vcl"
    {
        [ -z "$sites" ] || echo 'include "site_handover.vcl";'
        echo 'include "handover.vcl";'
        for name in $theatres; do declare_theatre "$name"; done
    } >"$generated/deployment.vcl"
    if [ "$sites" ]; then
        number=0
        for name in $sites; do declare_site "$name"; done >"$generated/site_backend.vcl"
        cat "$site_rules" ${site_recipe:+"$starter/recipes/$site_recipe.vcl"} >"$generated/rules.vcl" 2>/dev/null || : # no file: no rules
        sed '/^backend app {$/,/^}$/d; s|"./analytics.vcl"|"site_analytics.vcl"|' "$starter/varnish/default.vcl" >"$generated/starter.vcl" # includes ./rules.vcl
        sed "s/|_gl)/|_gl$(also_ignored "$site_ignore_arguments"))/; s/|has_js)/|has_js$(also_ignored "$site_ignore_cookies"))/" \
            "$starter/varnish/analytics.vcl" >"$generated/site_analytics.vcl"
    fi
}
