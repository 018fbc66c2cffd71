# shellcheck shell=sh
# Functions that set CERTIFICATE and CERTIFICATE_KEY: a pair of your own, or one that is made here
# and kept. Read by start.sh.

# own_pair SETTING CERTIFICATE KEY: uses your own pair; an error names the setting.
own_pair() {
    for file in "$2" "$3"; do
        [ -r "$file" ] || die "$1: there is no '$file' that nginx may read"
    done
    is_pair "$2" "$3" || die "$1: '$3' is not the key of '$2', or needs a password"
    export CERTIFICATE="$2" CERTIFICATE_KEY="$3"
}

# made_pair FOLDER NAMES: uses a self-signed pair for these names, which is kept in the folder. It
# is made anew if it expires within a month, or was made for other names.
made_pair() {
    export CERTIFICATE="$1/proscenium.pem" CERTIFICATE_KEY="$1/proscenium.key"
    wanted=$(alternative_names "$2")
    if [ "$(cat "$1/proscenium.names" 2>/dev/null)" = "$wanted" ] &&
        is_pair "$CERTIFICATE" "$CERTIFICATE_KEY" &&
        openssl x509 -in "$CERTIFICATE" -noout -checkend $((30 * 24 * 3600)) >/dev/null; then
        return
    fi
    said=$(make_pair "$1/proscenium" "$wanted" 2>&1) ||
        die "No certificate for $wanted could be made in $1: $(echo "$said" | tail -n 1)"
}

# is_pair CERTIFICATE KEY: succeeds if both can be read and belong together.
is_pair() {
    public_key=$(openssl x509 -in "$1" -noout -pubkey 2>/dev/null) || return 1
    [ "$public_key" = "$(openssl pkey -in "$2" -passin pass: -pubout 2>/dev/null)" ]
}

# alternative_names NAMES: names of nginx's servers in the form of subjectAltName. `.example.org`
# becomes two names; `www.example.*` has no such form and is left out.
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

# make_pair FILE NAMES: writes FILE.pem and FILE.key. The certificate is no authority, so a browser
# that accepts it trusts these names and no others. Only its owner can read the key.
make_pair() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 -config - \
        -keyout "$1.key.new" -out "$1.pem.new" <<END_OF_CONFIG || return
[req]
prompt = no
distinguished_name = subject
x509_extensions = extensions
[subject]
CN = localhost
[extensions]
subjectAltName = $2
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
END_OF_CONFIG
    mv "$1.key.new" "$1.key" && mv "$1.pem.new" "$1.pem" &&
        echo "$2" >"$1.names" # last: after an interrupted start the next one makes a new pair
}
