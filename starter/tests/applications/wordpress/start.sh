#!/bin/sh
# A site with two editors and five pages, on port 8000. varnish.php is the head of recipes/wordpress.vcl.
set -eu
mkdir -p /run/mysqld && chown mysql /run/mysqld
mariadbd --user=mysql --skip-networking &
until mariadb -e 'create database wordpress' 2>/dev/null; do sleep 0.2; done
php /install.php
content=/var/lib/wordpress/wp-content
mkdir -p $content/mu-plugins
{ echo '<?php'; cat /varnish.php; } >$content/mu-plugins/varnish.php
exec php -S 0.0.0.0:8000 -t /usr/share/wordpress
