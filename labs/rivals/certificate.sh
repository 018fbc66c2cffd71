#!/bin/sh
# certificate.sh COMMAND...: makes a self-signed certificate, of the same kind as the stack's own, and runs the command.
set -eu
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=upstage.localhost \
    -keyout /tmp/key.pem -out /tmp/certificate.pem
cat /tmp/key.pem /tmp/certificate.pem >/tmp/pair.pem # for programs that take both in one file
exec "$@"
