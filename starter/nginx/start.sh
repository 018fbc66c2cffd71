#!/bin/sh
# Starts nginx: your certificate, or one for a trial; and what nginx.conf reads of the settings.
set -eu
cd "$(dirname "$0")"
. ./starting.sh
. ./certificate.sh

APP=${APP#http://} APP=${APP%/}
case $APP in
?*:[0-9]*) ;;
*) die "APP must be HOST:PORT, such as app:8000, not '$APP'" ;;
esac
one_nginx /run/web/nginx.lock
rm -f /run/web/app.sock # left by a killed nginx
more_files

if [ -e "$TLS/fullchain.pem" ]; then
    own_pair TLS_NAME "$TLS/fullchain.pem" "$TLS/privkey.pem"
else
    made_pair /var/cache/nginx "${PUBLIC_NAME%:*}"
fi
mkdir -p /run/tls /run/settings
ln -sf "$CERTIFICATE" /run/tls/fullchain.pem
ln -sf "$CERTIFICATE_KEY" /run/tls/privkey.pem

# nginx reads neither of these files: who answers for names, and host.docker.internal's address.
echo "resolver $(name_servers /etc/resolv.conf) valid=2s ipv6=off;" >/run/settings/resolver.conf
address=$(awk -v name="${APP%:*}" '$2 == name { print $1; exit }' /etc/hosts)

# Without a token of yours, the token is one that is nowhere written.
printf '%s "%s";\n' \
    app "${address:-${APP%:*}}:${APP##*:}" \
    https_port ":$HTTPS_PORT" \
    redirect "$HTTPS_REDIRECT" \
    purge_token "${PURGE_TOKEN:-$(openssl rand -hex 32)}" >/run/settings/values
exec nginx
