# shellcheck shell=sh disable=SC2154  # eval assigns value
# Written from settings.toml by `make settings`.

# check MEANING PATTERN NAME=DEFAULT...: each is empty, which means its default, or one line that matches
# the extended regular expression.
newline='
'
check() {
    meaning=$1 pattern=$2
    shift 2
    for setting; do
        name=${setting%%=*} && eval "value=\${$name:-}"
        case $value in
        '') export "${setting?}" && continue ;;
        *"$newline"*) value=${value%%"$newline"*}… ;;
        *) ! printf '%s' "$value" | grep -Eqxe "$pattern" || continue ;;
        esac
        case $name in *_PASSWORD) value=… ;; esac
        die "$name must be $meaning, not '$value'"
    done
}

check 'unix:/PATH or HOST:PORT' 'unix:/[^][:space:]"$;{}\\:]+|[0-9A-Za-z._-]+:[0-9]{1,5}' \
    BACKEND_ADDRESS=unix:/run/proscenium/backend/upstage.sock APP_ADDRESS=
check 'unix:/PATH or HOST:PORT, with one * for the name' \
    'unix:/[^][:space:]"$;{}\\:*]*[*][^][:space:]"$;{}\\:*]*|[0-9A-Za-z._-]*[*][0-9A-Za-z._-]*:[0-9]{1,5}' \
    'THEATRES_ADDRESS=unix:/run/proscenium/*/upstage.sock'
check 'HOST:PORT, http://HOST:PORT or https://NAME:PORT, without a path' \
    '([0-9A-Za-z._-]+:[0-9]{1,5}|http://[0-9A-Za-z._-]+(:[0-9]{1,5})?|https://[0-9A-Za-z._-]*[A-Za-z][0-9A-Za-z._-]*(:[0-9]{1,5})?)/?' \
    APP=
check 'a path, such as /health' '/[0-9A-Za-z._~/?=%-]*' APP_HEALTH=
check 'varnish, or varnish- and a word such as varnish-2' 'varnish(-[a-z0-9.]+)*' VARNISH_NAME=varnish
check 'names, *.NAME, NAME.*, and addresses such as 192.0.2.7 and [2001:db8::7], separated by spaces' \
    ' *((([*]?[.])?[0-9A-Za-z_-]+([.][0-9A-Za-z_-]+)*|[0-9A-Za-z_-]+([.][0-9A-Za-z_-]+)*[.][*]|\[[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*\])( +|$))*' \
    SERVER_NAMES= APP_NAMES=
check 'an absolute path' '/[^"$;{}\\]*' APP_RULES=/etc/app/rules.vcl
check 'an absolute path without spaces' '/[^[:space:]"\\:,]+' VARNISH_LISTEN_SOCKET=/run/proscenium/varnish/varnish.sock \
    VARNISH_WORKDIR=/var/lib/varnish/varnishd VARNISH_GENERATED=/tmp/varnish
check 'names, such as ref promo_*, separated by spaces' '[][0-9A-Za-z_.* -]*' IGNORE_ARGUMENTS= IGNORE_COOKIES=
check '/PATH or ADDRESS:PORT' '/[^[:space:]"\\:,]+|[0-9A-Za-z._-]+:[0-9]{1,5}' VARNISH_LISTEN_APP_PURGE=
check 'malloc,SIZE or file,/PATH,SIZE, such as malloc,128m' '(malloc|file,/[^,[:space:]]+),[1-9][0-9]*[kKmMgG]?' \
    VARNISH_STORAGE=malloc,128m
check ':PORT or ADDRESS:PORT' '[0-9A-Za-z._-]*:[0-9]{1,5}' VARNISH_LISTEN=:8080 VARNISH_LISTEN_NGINX= VARNISH_LISTEN_PURGE=:8082 \
    VARNISH_LISTEN_CLI=127.0.0.1:8180
check 'one line' '.*' APP_RECIPE=
check 'names of lower-case letters, digits and hyphens' '[a-z0-9 -]*' THEATRES=
check 'a time, such as 300ms, 2s or 5m' '[1-9][0-9]{0,5}(ms|s|m)' APP_TIMEOUT=60s
