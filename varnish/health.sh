#!/usr/bin/env bash
# The health check: exit code 0 if varnishd answers on its HTTP port. Debian's image has no HTTP client, but bash can
# open a TCP connection.
set -eu
exec 3<>/dev/tcp/127.0.0.1/8080
printf 'GET /.varnish/health HTTP/1.0\r\n\r\n' >&3
head -n 1 <&3 | grep -q ' 200 '
