#!/usr/bin/env bash
# The container's health check: exit code 0 if varnishd answers on its HTTP port. bash opens the connection, because not
# every image has an HTTP client.
set -eu
exec 3<>/dev/tcp/127.0.0.1/8080
printf 'GET /.varnish/health HTTP/1.0\r\n\r\n' >&3
head -n 1 <&3 | grep -q ' 200 '
