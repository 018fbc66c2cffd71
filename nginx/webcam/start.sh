#!/bin/sh
# The ports for pictures come from the environment, which nginx cannot read.
set -eu
echo "listen ${FTP_PASSIVE_PORTS};" >/etc/nginx/generated/listen-pictures.conf
ln -sfn /usr/lib/nginx/modules /tmp/modules
exec nginx -e stderr -p /tmp -c /etc/nginx/proscenium/webcam/nginx.conf
