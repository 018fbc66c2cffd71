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

# --- The certificate: the user's own pair, or one that we make and keep.

# usable_pair CERTIFICATE KEY: both can be read, and belong together.
usable_pair() {
    certificate_key=$(openssl x509 -in "$1" -noout -pubkey 2>/dev/null) || return 1
    [ "$certificate_key" = "$(openssl pkey -in "$2" -passin pass: -pubout 2>/dev/null)" ]
}

# The names as subjectAltName has them. nginx's `.example.org` is two names there, its `www.example.*` is none.
alternative_names() (
    set -f # a * is a name
    for name in $1; do
        case $name in
        \[*\]) name=${name#[} && echo "IP:${name%]}" ;;
        *[!0-9.]*.\*) ;;
        .*) echo "DNS:${name#.}" && echo "DNS:*$name" ;;
        *[!0-9.]*) echo "DNS:$name" ;;
        *) echo "IP:$name" ;;
        esac
    done | sort -u | paste -s -d , -
)

# A self-signed one, so browsers ask once. It is no authority: who trusts it trusts these names and nothing else. The
# key is for its owner only; openssl sees to that.
make_certificate() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 -config - \
        -keyout "$tls.key.new" -out "$tls.pem.new" <<END || return
[req]
prompt = no
distinguished_name = subject
x509_extensions = extensions
[subject]
CN = localhost
[extensions]
subjectAltName = $1
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
END
    mv "$tls.key.new" "$tls.key" && mv "$tls.pem.new" "$tls.pem" &&
        echo "$1" >"$tls.names" # last: a start that was interrupted makes a new one
}

if [ -n "${TLS_CERTIFICATE:-}${TLS_CERTIFICATE_KEY:-}" ]; then
    certificate=${TLS_CERTIFICATE:-} key=${TLS_CERTIFICATE_KEY:-}
    [ "${certificate:+set}" = "${key:+set}" ] || die "TLS_CERTIFICATE and TLS_CERTIFICATE_KEY belong together: set both"
    for file in "$certificate" "$key"; do
        [ -r "$file" ] || die "TLS_CERTIFICATE, TLS_CERTIFICATE_KEY: there is no '$file' that nginx may read"
    done
    usable_pair "$certificate" "$key" ||
        die "TLS_CERTIFICATE_KEY is not the key of TLS_CERTIFICATE, or needs a password: '$key', '$certificate'"
else
    # In a container a volume is mounted on /var/tmp. A new volume takes over the mode of the image's folder, and
    # that is the one where anybody may write: nginx does not run as root.
    tls=${TLS_FOLDER:-/var/tmp}/proscenium
    certificate=$tls.pem key=$tls.key
    site_names=$(sed -n 's/^ *server_name \(.*\.localhost\);/\1/p' "$folder"/sites/*.conf)
    names=$(alternative_names "$default_names $site_names")
    # Renewed a month before it ends, and when the names are others.
    if [ "$(cat "$tls.names" 2>/dev/null)" != "$names" ] || ! usable_pair "$certificate" "$key" ||
        ! openssl x509 -in "$certificate" -noout -checkend $((30 * 24 * 3600)) >/dev/null; then
        said=$(make_certificate "$names" 2>&1) ||
            die "No certificate for $names could be made in $(dirname "$tls"): $(echo "$said" | tail -n 1)"
    fi
fi

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
limit_req_zone \$client zone=requests:10m rate=${requests}r/s;
limit_req zone=requests burst=$((requests * 10)) nodelay;
limit_req_zone \$login zone=logins:10m rate=${logins}r/m;
limit_req zone=logins burst=$logins nodelay;
END
echo "limit_conn audience $stage_connections;" | write limits-ws.conf
echo "limit_conn stage $stage_connections;" | write limits-stage.conf

# Debian's list of modules names them relative to the prefix.
ln -sfn /usr/lib/nginx/modules "$prefix/modules"
