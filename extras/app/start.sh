#!/bin/sh
# Fills in nginx's configuration and runs nginx. (A test has other folders.)
set -eu
here=$(dirname "$0")
PREFIX=${PREFIX:-/tmp} SOCKETS=${SOCKETS:-/run/proscenium/app}
# The relay copies bytes from the socket to the application, over TLS if the application speaks https.
APP=${APP:-} url=${APP%/} address=${url#*://} port=80 TLS=''
echo "$url" | grep -Eqx '(https?://[0-9A-Za-z._-]+(:[0-9]{1,5})?|[0-9A-Za-z._-]+:[0-9]{1,5})' || {
    echo "APP must be HOST:PORT, http://HOST:PORT or https://NAME:PORT, without a path, not '$APP'" >&2
    exit 1
}
host=${address%:*}
case $url in https:*) port=443 TLS="proxy_ssl on; proxy_ssl_name $host;" ;; esac
case $address in *:*) port=${address##*:} ;; esac
TARGET=$host:$port LOCAL=''
# nginx's resolver does not read /etc/hosts. (localhost has two addresses, and a program may listen on only one of them.)
known=$(awk -v name="$host" '{ for (i = 2; i <= NF; i++) if ($i == name && $1 !~ /:/) { print $1; exit } }' /etc/hosts)
TARGET=${known:-$host}:$port
if [ "$host" = localhost ] || [ "$host" = host.docker.internal ]; then # this machine, in whose network the relay is
    TARGET=local
    LOCAL="upstream local { server 127.0.0.1:$port max_fails=0; server [::1]:$port max_fails=0; }"
fi
# The relay trusts the public certificate authorities, and your own.
CA=$PREFIX/ca.pem
cat /etc/ssl/certs/ca-certificates.crt "$here/ca.pem" >"$CA" 2>/dev/null || :
# nginx does not read /etc/resolv.conf. In its `resolver` directive an IPv6 address needs brackets.
RESOLVERS=$(awk '$1 == "nameserver" && $2 !~ /%/ { printf "%s ", $2 ~ /:/ ? "[" $2 "]" : $2 }' /etc/resolv.conf)
RESOLVERS=${RESOLVERS:-127.0.0.1}
# A purge goes to the first Varnish, whose response counts, and a copy of it to each of the others. (One that is down loses its
# copies anyway.)
PURGE_OTHERS='' OTHERS=''
for name in ${VARNISHES#* }; do
    [ "$name" != "${VARNISHES%% *}" ] || continue
    PURGE_OTHERS="$PURGE_OTHERS mirror /.purge/$name;"
    OTHERS="$OTHERS location = /.purge/$name { internal; proxy_pass http://unix:/run/proscenium/purge/$name.sock:\$request_uri; }"
done
VARNISH=${VARNISHES%% *}
export SOCKETS TARGET LOCAL TLS CA RESOLVERS PURGE VARNISH PURGE_OTHERS OTHERS
# shellcheck disable=SC2016  # envsubst expands these names
envsubst '$SOCKETS $TARGET $LOCAL $TLS $CA $RESOLVERS $PURGE $VARNISH $PURGE_OTHERS $OTHERS' <"$here/nginx.conf.template" >"$PREFIX/nginx.conf"
# nginx inherits the lock, which the kernel keeps until nginx has ended.
exec 9>>"$SOCKETS/lock"
flock -w 2 9 || { echo "Another relay of this stack is running: it holds $SOCKETS/lock." >&2 && exit 1; }
rm -f "$SOCKETS"/*.sock # left by a killed nginx
exec nginx -e stderr -p "$PREFIX" -c "$PREFIX/nginx.conf"
