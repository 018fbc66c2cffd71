#!/bin/sh
# Fills in nginx's configuration and runs nginx.
set -eu
# nginx does not read /etc/resolv.conf. In its `resolver` directive an IPv6 address needs brackets.
RESOLVERS=$(awk '$1 == "nameserver" { printf "%s ", $2 ~ /:/ ? "[" $2 "]" : $2 }' /etc/resolv.conf)
export RESOLVERS
# shellcheck disable=SC2016  # envsubst expands these names
envsubst '$FTP_PASSIVE_PORTS $RESOLVERS' </etc/webcam/nginx.conf.template >/tmp/nginx.conf
exec nginx -e stderr -p /tmp -c /tmp/nginx.conf
