#!/bin/sh
# The ports for pictures come from the environment, which nginx cannot read.
set -eu
generated=/tmp
echo "listen ${FTP_PASSIVE_PORTS};" >$generated/listen-pictures.conf
. "$(dirname "$0")/../resolver.sh"
ln -sfn /usr/lib/nginx/modules /tmp/modules
exec nginx -e stderr -p /tmp -c /etc/nginx/proscenium/webcam/nginx.conf
