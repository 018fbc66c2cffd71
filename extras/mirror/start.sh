#!/bin/sh
# start.sh FOLDER: leads nginx to this server's media, which it has under that name, and starts the server. The link is in a folder
# of its own, because that of the sockets is like /tmp: Linux follows no other user's link there.
set -eu
mkdir -p /run/upstage/active
ln -sfn "$1" /run/upstage/active/new
mv -T /run/upstage/active/new /run/upstage/active/media
exec upstage serve
