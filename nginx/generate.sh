# shellcheck shell=sh
# What nginx cannot do for itself: read environment variables, look which sockets exist, make a certificate. The results
# are small files in the folder `generated` beside the configuration. Sourced by start.sh and reload.sh with their
# arguments: [CONFIGURATION [PREFIX]]; both have the containers' paths as defaults.
set -eu
conf=${1:-/etc/nginx/proscenium/nginx.conf}
prefix=${2:-/tmp}
folder=$(dirname "$conf")
generated=$folder/../generated

die() {
    echo "$*" >&2
    exit 1
}

# fingerprint: one line for all that nginx reads at a start or reload.
fingerprint() { { nginx -T -q -e stderr -p "$prefix" -c "$conf" && cat "$certificate" "$key"; } | cksum; }

# number NAME DEFAULT: the value of a knob.
number() {
    value=$(printenv "$1" || true)
    value=${value:-$2}
    case $value in
    *[!0-9]* | 0* | ???????*) die "$1 must be a whole number from 1 to 999999, not '$value'" ;;
    esac
    echo "$value"
}

# --- All knobs are read before the first file is written: a wrong one leaves the old files alone.

case ${SERVER_NAMES:-} in
*[!A-Za-z0-9.:_\ \[\]*-]*)
    die "SERVER_NAMES may hold names and addresses separated by spaces, nothing else: '$SERVER_NAMES'"
    ;;
esac
connections=$(number CLIENT_CONNECTIONS 400)
requests=$(number CLIENT_REQUESTS 300)
logins=$(number LOGIN_REQUESTS 30)
stage_connections=$(number CLIENT_STAGE_CONNECTIONS 1000)
https_port=$(number HTTPS_PORT 8443)
redirect=${HTTPS_REDIRECT:-off}
case $redirect in
on | off) ;;
*) die "HTTPS_REDIRECT must be on or off, not '$redirect'" ;;
esac

default_names="upstage.localhost localhost 127.0.0.1 [::1] ${SERVER_NAMES:-}"
site_names=$(sed -n 's/^ *server_name \(.*\.localhost\);/\1/p' "$folder"/sites/*.conf)
. "$(dirname "$0")/certificate.sh" # sets certificate and key

# --- What the configuration includes.

# write FILE: what comes in, into the folder `generated`.
write() { cat >"$generated/$1"; }

write server_names.conf <<END
server_name $default_names;
END

write certificate.conf <<END
ssl_certificate "$certificate";
ssl_certificate_key "$key";
END

# HTTP/2 has been a directive since 1.25.1; before that it was a word in `listen`, which newer versions complain about.
version=$(nginx -v 2>&1 | sed 's|.*nginx/\([0-9.]*\).*|\1|')
if [ "$(printf '%s\n' 1.25.1 "$version" | sort -V | head -n 1)" = 1.25.1 ]; then
    { cat "$folder/listen-tls.conf" && echo 'http2 on;'; } | write listen-tls.conf
else
    sed 's/ ssl;/ ssl http2;/' "$folder/listen-tls.conf" | write listen-tls.conf
fi

# The second instance, if it is there; its name is unknown otherwise.
second=$(sed -n 's/.*unix:\(.*second\.sock\);.*/\1/p' "$folder/upstreams.conf")
if [ -S "$second" ]; then echo 'include sites/second.conf;'; fi | write sites.conf
if [ -S "$second" ]; then echo 'include second-stage.conf;'; fi | write streams.conf

. "$(dirname "$0")/resolver.sh" # writes resolver.conf

# The load ports are told apart by their addresses, as the listen-load*.conf have them.
address() { sed -n 's/^listen \([^;]*\);.*/\1/p' "$folder/$1"; }
load=$(address listen-load.conf)
write listeners-stream.conf <<END
map "\$server_addr:\$server_port" \$client {
    "~(^|:)$(address listen-load-stage.conf)\$" "";
    "~(^|:)$(address listen-load-policy.conf)\$" "";
    default \$binary_remote_addr;
}
END
[ "$https_port" = 443 ] && port= || port=:$https_port
if [ "$redirect" = on ]; then
    # A day, so that who turns this off again is forgiven tomorrow.
    to_https="yes:http https://\$host$port\$request_uri;" hsts='https "max-age=86400";'
else
    to_https='' hsts=''
fi
write listeners.conf <<END
map "\$server_addr:\$server_port" \$public {
    "~(^|:)$load\$" "";
    default yes;
}
map "\$public:\$scheme" \$to_https {
    default "";
    $to_https
}
map \$scheme \$hsts {
    default "";
    $hsts
}
END

write limits.conf <<END
limit_conn connections $connections;
limit_conn in_progress 2400;
limit_conn uploads 40;
limit_req_zone \$client zone=requests:10m rate=${requests}r/s;
limit_req zone=requests burst=$((requests * 10)) nodelay;
limit_req_zone \$login zone=logins:10m rate=${logins}r/m;
limit_req zone=logins burst=$logins nodelay;
END
echo "limit_conn audience $stage_connections;" | write limits-ws.conf
echo "limit_conn stage $stage_connections;" | write limits-stage.conf

# Debian's list of modules names them relative to the prefix. `disk` is where uploads wait: the prefix is in memory.
ln -sfn /usr/lib/nginx/modules "$prefix/modules"
ln -sfn "${TLS_FOLDER:-/var/tmp}" "$prefix/disk"
