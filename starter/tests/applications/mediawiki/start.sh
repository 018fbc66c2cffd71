#!/bin/sh
# A wiki with two users and five pages, on port 8000. settings.php is the head of recipes/mediawiki.vcl.
set -eu
run() { php /usr/share/mediawiki/maintenance/run.php "$@"; }

mkdir -p /wiki
run install --confpath /wiki --dbtype sqlite --dbpath /wiki --dbname wiki --server "http://$PUBLIC_NAME" --scriptpath '' \
    --pass 'the curtain rises' Theatre ann
cat /settings.php >>/wiki/LocalSettings.php
run createAndPromote bob 'the curtain falls'
for page in Hamlet Macbeth Othello Lear; do
    echo "The play about $page." | run edit --user ann "$page"
done
exec php -S 0.0.0.0:8000 -t /usr/share/mediawiki
