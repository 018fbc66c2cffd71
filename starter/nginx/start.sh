#!/bin/sh
# Writes the files with settings that nginx.conf includes, and starts nginx; with arguments, such as
# those of `docker compose run nginx nginx -t`, it runs these instead.
set -eu
cd "$(dirname "$0")"
. ./starting.sh
. ./certificate.sh

if [ $# = 0 ]; then
    one_nginx /run/web/nginx.lock
    rm -f /run/web/app.sock # left by a killed nginx
    more_files
fi
mkdir -p /run/tls /run/settings
cd /run/settings

# The address of your application. nginx does not read /etc/hosts, which lists host.docker.internal.
APP=$(echo "$APP" | sed 's|^ *\(http://\)\{0,1\}||; s|[/ ]*$||')
case $APP in
localhost:* | 127.*)
    die "APP=$APP is nginx's own container." \
        "For a program on this machine: APP=host.docker.internal:${APP##*:}"
    ;;
esac
echo "$APP" | grep -Eqx '[0-9A-Za-z._-]+:[0-9]{1,5}' ||
    die "APP must be HOST:PORT, such as app:8000, not '$APP'"
address=$(awk -v name="${APP%:*}" '$2 == name { print $1; exit }' /etc/hosts)
echo "resolver $(name_servers /etc/resolv.conf) valid=2s ipv6=off;" >resolver.conf

# Your certificate, or one for a trial if you have named none.
if [ "$TLS_FOLDER$TLS_NAME" ]; then
    own_pair "TLS_FOLDER, TLS_NAME" "/certificates/$TLS_NAME/fullchain.pem" \
        "/certificates/$TLS_NAME/privkey.pem"
else
    made_pair /var/cache/nginx "$(echo "$PUBLIC_NAME" | sed 's|:[0-9]*$||')"
fi
ln -sf "$CERTIFICATE" /run/tls/fullchain.pem
ln -sf "$CERTIFICATE_KEY" /run/tls/privkey.pem

case $TRUSTED_PROXIES in
*[!0-9a-fA-F.:/\ ]*)
    die "TRUSTED_PROXIES has addresses and networks, such as 10.0.0.0/8, not '$TRUSTED_PROXIES'"
    ;;
esac
trust "$TRUSTED_PROXIES" "$PROXY_PROTOCOL"
write_headers /etc/nginx /run/settings "$APP_HEADERS"
echo "real_ip_header $REAL_IP_HEADER; real_ip_recursive on; $TRUSTED" >real_ip.conf
echo "$PROXIES" >proxies

# 8081 is for a load test, and never redirects.
{
    listen 8080 "$PROXIED"
    listen 8443 "ssl $PROXIED"
    listen 8081
} >listen.conf
case $HTTPS_REDIRECT in
on | off) ;;
*) die "HTTPS_REDIRECT must be on or off, not '$HTTPS_REDIRECT'" ;;
esac

# The token becomes a regular expression, because nginx compares plain values without regard to
# case. If PURGE_TOKEN is empty, no token is valid.
: >purge_token
if [ "$PURGE_TOKEN" ]; then
    token=$(printf %s "$PURGE_TOKEN" | sed 's|[]\\^$.*+?(){}|[/"]|\\&|g; s|\\\\|&&|g')
    printf '"~^%s$" yes;\n' "$token" >purge_token
fi

port=":$HTTPS_PORT"
[ "$HTTPS_PORT" != 443 ] || port=
printf '%s "%s";\n' app "${address:-${APP%:*}}:${APP##*:}" https_port "$port" \
    redirect "$HTTPS_REDIRECT" >values

if [ $# -gt 0 ]; then
    exec "$@"
fi
exec nginx
