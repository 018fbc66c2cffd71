# shellcheck shell=sh disable=SC2034,SC2153  # render.sh uses some variables, table.sh sets others
# Every setting, checked and exported, because envsubst reads the environment; nginx/settings.md explains them. Sourced by render.sh.
# An invalid value ends the script with one line, before any file is written.

. ../starter/nginx/starting.sh
. ../starter/nginx/certificate.sh
. scripts/check.sh
. scripts/table.sh
. scripts/addresses.sh

# pair NAME VALUE NAME VALUE: requires that both are set, or neither.
pair() { [ "${2:+set}" = "${4:+set}" ] || die "$1 and $3 belong together: set both"; }
pair TLS_CERTIFICATE "$TLS_CERTIFICATE" TLS_CERTIFICATE_KEY "$TLS_CERTIFICATE_KEY"

# The sites for comparisons: a file for each.
comparison_sites=$(basename -s .localhost.conf sites/*.localhost.conf | paste -s -d ' ' -)

. scripts/theatres.sh
check_theatres
THEATRES=$(echo "$THEATRES" | awk '{ $1 = $1; print }') # one space between two names

# If the ports are on loopback alone, no visitor can bypass the cache through the comparison names.
case $COMPARISON_NAMES:$BIND_ADDR in
:127.* | :::1 | :\[::1\]) COMPARISON_NAMES=on ;;
:*) COMPARISON_NAMES=off ;;
esac
# The names of all sites.
names="upstage.localhost localhost 127.0.0.1 [::1] ${APP:+app.localhost} $APP_NAMES $SERVER_NAMES"
for name in $comparison_sites $THEATRES; do names="$names $name.localhost"; done

# A host in HOST HOST:PORT gets the port, too.
case $VARNISH_ADDRESS in
*' '*) VARNISH_ADDRESS=$(echo "$VARNISH_ADDRESS" | awk '{
    port = $NF
    sub(/.*:/, ":", port)
    for (i = 1; i <= NF; i++) printf "%s%s%s", $i, $i ~ /:/ ? "" : port, i < NF ? " " : "\n"
}') ;;
esac

# choose_certificate: chooses the user's certificate, or one that nginx's own container keeps in a volume on /var/tmp. (A new
# volume takes over the mode of the image's folder, which is writable by all users: nginx does not run as root.)
choose_certificate() {
    if [ "$TLS_CERTIFICATE" ]; then
        own_pair TLS_CERTIFICATE_KEY "$TLS_FOLDER/$TLS_CERTIFICATE" "$TLS_FOLDER/$TLS_CERTIFICATE_KEY"
    else
        made_pair "$CERTIFICATE_FOLDER" "$names"
    fi
}
