#!/bin/sh
# Fills in nginx's configuration and runs nginx.
set -eu
SITE=${SITE%/}
SITE_ADDRESS=${SITE#http://}
case $SITE in
http://*/* | http://*[!0-9A-Za-z._:-]* | http:// | [!h]* | '')
    echo "SITE must be http://HOST:PORT, without a path, not '$SITE'" >&2
    exit 1
    ;;
esac
case $SITE_ADDRESS in *:*) ;; *) SITE_ADDRESS=$SITE_ADDRESS:80 ;; esac
SITE_PORT=${SITE_ADDRESS##*:}
# nginx's resolver does not read /etc/hosts, and a program may listen on only one of the two addresses.
case $SITE_ADDRESS in localhost:*) SITE_ADDRESS=this_machine ;; esac
# nginx does not read /etc/resolv.conf. An IPv6 address needs brackets there.
RESOLVERS=$(awk '$1 == "nameserver" && $2 !~ /%/ { printf "%s ", $2 ~ /:/ ? "[" $2 "]" : $2 }' /etc/resolv.conf)
RESOLVERS=${RESOLVERS:-127.0.0.1}
# A purge goes to the first Varnish, whose answer counts, and a copy of it to each of the others. (One that is down loses its
# copies anyway.)
PURGE_OTHERS='' OTHERS=''
for name in ${VARNISHES#* }; do
    [ "$name" != "${VARNISHES%% *}" ] || continue
    PURGE_OTHERS="$PURGE_OTHERS mirror /.purge/$name;"
    OTHERS="$OTHERS location = /.purge/$name { internal; proxy_pass http://unix:/run/proscenium/purge/$name.sock:\$request_uri; }"
done
VARNISH=${VARNISHES%% *}
export SITE_ADDRESS SITE_PORT RESOLVERS PURGE VARNISH PURGE_OTHERS OTHERS
# shellcheck disable=SC2016  # envsubst expands these names
envsubst '$SITE_ADDRESS $SITE_PORT $RESOLVERS $PURGE $VARNISH $PURGE_OTHERS $OTHERS' </etc/site/nginx.conf.template >/tmp/nginx.conf
# nginx inherits the lock, which the kernel keeps until nginx has ended.
exec 9>>/run/proscenium/site/lock
flock -w 2 9 || { echo "Another relay of this stack is running: it holds /run/proscenium/site/lock." >&2 && exit 1; }
rm -f /run/proscenium/site/site.sock # left by a killed nginx
exec nginx -e stderr -p /tmp -c /tmp/nginx.conf
