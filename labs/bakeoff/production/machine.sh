#!/bin/sh
# The production machine: films on its disk, more than its memory holds, and its servers. A hangup gives Apache and nginx
# new processes.
#
#   machine.sh apache    Apache, with PHP inside
#   machine.sh nginx     nginx, with PHP-FPM, as the two domains had it
#   machine.sh front     nginx in front of that Apache
set -eu

# The films are written here, so that those in the page cache count as this machine's memory.
for number in $(seq 600); do
    film=/srv/video/$number.flv
    if [ ! -e "$film" ]; then
        head -c 1000000 /dev/urandom >"$film.part" # a restart must not find half a film
        mv "$film.part" "$film"
    fi
done

apache() { exec apache2 -D FOREGROUND -f /lab/production/apache.conf; }
nginx() { exec /usr/sbin/nginx -e stderr -c "/lab/production/$1.conf"; }
php() {
    trap '' HUP # its few processes stay
    exec php-fpm --fpm-config /lab/production/php-fpm.conf
}

case $1 in
apache) apache ;;
nginx) php & nginx nginx ;;
front) apache & nginx front ;;
esac
