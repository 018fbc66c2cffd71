# shellcheck shell=sh disable=SC2154  # default_names and site_names are generate.sh's
# The certificate: the user's own pair, or one that we make and keep. Sourced by generate.sh; sets certificate and key.

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
    names=$(alternative_names "$default_names $site_names")
    # Renewed a month before it ends, and when the names are others.
    if [ "$(cat "$tls.names" 2>/dev/null)" != "$names" ] || ! usable_pair "$certificate" "$key" ||
        ! openssl x509 -in "$certificate" -noout -checkend $((30 * 24 * 3600)) >/dev/null; then
        said=$(make_certificate "$names" 2>&1) ||
            die "No certificate for $names could be made in $(dirname "$tls"): $(echo "$said" | tail -n 1)"
    fi
fi
