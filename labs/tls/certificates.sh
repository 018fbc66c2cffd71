#!/bin/sh
# certificates.sh COMMAND...: makes an ECDSA and an RSA certificate and runs the command.
set -eu
make_pair() { # NAME KIND...
    name=$1 && shift
    openssl req -x509 "$@" -nodes -days 30 -subj /CN=upstage.localhost \
        -keyout "/tmp/$name.key" -out "/tmp/$name.pem"
}
make_pair ecdsa -newkey ec -pkeyopt ec_paramgen_curve:prime256v1
make_pair rsa -newkey rsa:2048
exec "$@"
