#!/bin/sh
# nginx as every tutorial calls it: `docker compose exec nginx nginx -t` and `nginx -s reload`. compose.yaml mounts this file
# as /usr/local/sbin/nginx, which comes before nginx itself. Both fill the templates first: they are about the files that
# the reader has edited. All other calls are nginx's own.
PATH=${PATH#/usr/local/sbin:}
here=/etc/nginx/proscenium
case $* in
'-s reload') exec sh $here/reload.sh ;;
-t* | -T* | -q* | -s\ *)
    # shellcheck disable=SC2016  # $0 and the others are that shell's
    exec sh -c '. "${0%/*}/scripts/render.sh" && exec nginx -e stderr -p "$PREFIX" -c "$configuration" "$@"' $here/start.sh "$@"
    ;;
esac
exec nginx "$@"
