#!/bin/sh
# Starts nginx: your certificate, or one for a trial; and what nginx.conf reads of the settings.
set -eu
mkdir -p /run/tls /run/settings
rm -f /run/web/app.sock # left by a killed nginx

if [ -e "$TLS/fullchain.pem" ]; then
    ln -sf "$TLS/fullchain.pem" "$TLS/privkey.pem" /run/tls
else
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 \
        -subj "/CN=${PUBLIC_NAME%:*}" -addext "subjectAltName=DNS:${PUBLIC_NAME%:*}" \
        -keyout /run/tls/privkey.pem -out /run/tls/fullchain.pem 2>/dev/null
fi

# nginx reads neither of these files: who answers for names, and host.docker.internal's address.
awk '/^nameserver/ { print "resolver", $2 ~ /:/ ? "[" $2 "]" : $2, "valid=2s ipv6=off;"; exit }' \
    /etc/resolv.conf >/run/settings/resolver.conf
address=$(awk -v name="${APP%:*}" '$2 == name { print $1; exit }' /etc/hosts)

# Without a token of yours, the token is one that is nowhere written.
printf '%s "%s";\n' \
    app "${address:-${APP%:*}}:${APP##*:}" \
    https_port ":$HTTPS_PORT" \
    redirect "$HTTPS_REDIRECT" \
    purge_token "${PURGE_TOKEN:-$(openssl rand -hex 32)}" >/run/settings/values
exec nginx
