# shellcheck shell=sh disable=SC2034,SC2153  # start.sh and reload.sh use some variables, table.sh sets others
# Every setting, checked (varnish/settings.md explains them), and the VCL that depends on them.

die() {
    echo "$*" >&2
    exit 1
}

folder=$(cd "$(dirname "$0")" && pwd)
starter=${folder%/*}/starter # the VCL includes files of it

. "$folder/check.sh"
. "$folder/table.sh"
. "$folder/addresses.sh"
# shellcheck source=starter/varnish/files.sh
. "$starter/varnish/files.sh" # write_ignored
secret=$VARNISH_GENERATED/secret
recipes=$(find "$starter/recipes" -name '*.vcl' 2>/dev/null | sed 's|.*/||; s|[.]vcl||' | sort | paste -s -d '|' -)
check "one of starter/recipes ($recipes)" "$recipes" APP_RECIPE=

# Each load has its own name: the running version stays until the next one has compiled.
stamp=$(date +%Y-%m-%d_%H-%M-%S)_$$
classic=classic_$stamp
app=app_$stamp
default=default_$stamp

# in_vcl ADDRESS: prints the address as VCL. Varnish looks a host name up once, when the VCL is loaded; a path stays valid when the
# backend's container comes back at another address. https://varnish-cache.org/docs/7.1/reference/vcl-backend.html
in_vcl() {
    case $1 in
    unix:*) echo ".path = \"${1#unix:}\";" ;;
    *) echo ".host = \"${1%:*}\"; .port = \"${1##*:}\";" ;;
    esac
}

# declare_theatre NAME: prints the theatre's backend, and the rule that chooses it.
declare_theatre() {
    address=${THEATRES_ADDRESS%%\**}$1${THEATRES_ADDRESS#*\*}
    sed "s|NAME|$1|g; s|ADDRESS|$(in_vcl "$address")|" "$folder/theatre.vcl.template"
}

# declare_app: prints the application's backend.
declare_app() {
    address=${APP_ADDRESS:-$(echo "${APP#http://}" | sed 's|/$||; /:/!s/$/:80/')}
    names=$(own_names | sed 's/\\/&&/g')
    health=$(echo "$APP_HEALTH" | sed 's/[&\]/\\&/g; s/|/\\|/g')
    sed "s|ADDRESS$|$(in_vcl "$address")|; s|TIMEOUT;|$APP_TIMEOUT;|; s,(NAMES),($names),
        ${APP_HEALTH:+s|HEALTH\"|$health\"|;} /HEALTH\"/d" "$folder/app_backend.vcl.template"
}

# own_names: prints an expression for the names of this machine and of the application. Any name without a dot belongs to this
# machine or its network.
own_names() {
    {
        printf '%s\n' '[0-9a-z_-]+' '.+[.]localhost' 'host[.]docker[.]internal' '[0-9.]+' '\[[0-9a-f:.]+\]'
        echo "$APP_NAMES $SERVER_NAMES" | tr -s ' ' '\n' | sed -n 's/[].[]/[&]/g; s/^\[[.]\]/(.+[.])?/; s/[*]/.+/; /./p'
    } | paste -s -d '|' -
}

# write_vcl: writes the files that differ from one deployment to another. vcl_path names their folder first.
write_vcl() {
    mkdir -p "$VARNISH_GENERATED"
    sed "s|ADDRESS$|$(in_vcl "$BACKEND_ADDRESS")|" "$folder/upstage.vcl.template" >"$VARNISH_GENERATED/backends.vcl"
    rm -rf "$VARNISH_GENERATED/starter"
    if [ "$IGNORE_ARGUMENTS$IGNORE_COOKIES" ]; then
        mkdir -p "$VARNISH_GENERATED/starter/varnish"
        cp "$starter/varnish/analytics.vcl" "$VARNISH_GENERATED/starter/varnish/"
        write_ignored "$VARNISH_GENERATED/starter/varnish/ignored.vcl"
    fi
    {
        [ -z "$APP" ] || echo 'include "app_handover.vcl";'
        echo 'include "handover.vcl";'
        for name in $THEATRES; do declare_theatre "$name"; done
    } >"$VARNISH_GENERATED/deployment.vcl"
    if [ "$APP" ]; then
        declare_app >"$VARNISH_GENERATED/app_backend.vcl"
        cat "$APP_RULES" ${APP_RECIPE:+"$starter/recipes/$APP_RECIPE.vcl"} >"$VARNISH_GENERATED/rules.vcl" 2>/dev/null || : # without a file there are no rules
    fi
}
