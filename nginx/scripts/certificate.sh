# shellcheck shell=sh disable=SC2154  # settings.sh sets the rest
# Sets CERTIFICATE and CERTIFICATE_KEY: the user's own pair, or a self-signed one that is made here and kept. Sourced by
# render.sh.

# usable_pair CERTIFICATE KEY: both are readable and belong together.
usable_pair() {
    public_key=$(openssl x509 -in "$1" -noout -pubkey 2>/dev/null) || return 1
    [ "$public_key" = "$(openssl pkey -in "$2" -passin pass: -pubout 2>/dev/null)" ]
}

# alternative_names NAMES: server names in the form of subjectAltName. `.example.org` of nginx becomes two names;
# `www.example.*` has no such form and is left out.
alternative_names() (
    set -f # a * is part of a name here
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

# make_certificate NAMES: writes a self-signed pair. It is not a certificate authority, so a browser that accepts it
# trusts these names and no others. openssl makes the key readable only by its owner.
make_certificate() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 -config - \
        -keyout "$own.key.new" -out "$own.pem.new" <<END || return
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
    mv "$own.key.new" "$own.key" && mv "$own.pem.new" "$own.pem" &&
        echo "$1" >"$own.names" # last: after an interrupted start the next one makes a new pair
}

if [ "$TLS_CERTIFICATE" ]; then
    export CERTIFICATE="$TLS_FOLDER/$TLS_CERTIFICATE" CERTIFICATE_KEY="$TLS_FOLDER/$TLS_CERTIFICATE_KEY"
    for file in "$CERTIFICATE" "$CERTIFICATE_KEY"; do
        [ -r "$file" ] || die "TLS_CERTIFICATE, TLS_CERTIFICATE_KEY: there is no '$file' that nginx may read"
    done
    usable_pair "$CERTIFICATE" "$CERTIFICATE_KEY" ||
        die "TLS_CERTIFICATE_KEY is not the key of TLS_CERTIFICATE, or needs a password: '$CERTIFICATE_KEY', '$CERTIFICATE'"
else
    # In a container a volume is mounted on /var/tmp. A new volume takes over the mode of the image's folder, which is
    # writable by all users: nginx does not run as root.
    own=$CERTIFICATE_FOLDER/proscenium
    export CERTIFICATE="$own.pem" CERTIFICATE_KEY="$own.key"
    all_names=$(alternative_names "$names")
    # Renew a pair that expires within a month, or that was made for other names.
    if [ "$(cat "$own.names" 2>/dev/null)" != "$all_names" ] || ! usable_pair "$CERTIFICATE" "$CERTIFICATE_KEY" ||
        ! openssl x509 -in "$CERTIFICATE" -noout -checkend $((30 * 24 * 3600)) >/dev/null; then
        output=$(make_certificate "$all_names" 2>&1) ||
            die "No certificate for $all_names could be made in $CERTIFICATE_FOLDER: $(echo "$output" | tail -n 1)"
    fi
fi
