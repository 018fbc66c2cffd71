#!/bin/sh
# nginx as every tutorial calls it: `docker compose exec nginx nginx -t` and `nginx -s reload`. compose.yaml mounts this file
# as /usr/local/sbin/nginx, which comes before nginx itself. Both calls first fill the templates, so that they use the files
# that the reader has edited. All other calls are passed on to nginx.
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
