#!/bin/sh
# start.sh FOLDER: links to this server's media, which nginx finds in FOLDER, and starts the server. The link is in a folder of its
# own, because the folder of the sockets is like /tmp, in which Linux follows no other user's link.
set -eu
mkdir -p /run/upstage/active
ln -sfn "$1" /run/upstage/active/new
mv -T /run/upstage/active/new /run/upstage/active/media
exec upstage serve
