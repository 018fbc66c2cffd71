#!/bin/sh
# On each node: unpacks the files of this version, and waits until nginx and Varnish there have loaded them (run.sh). If
# one of them cannot, it brings the old files back and fails; then Swarm returns to the old version on all nodes.
set -eu
cd /etc/proscenium

if [ ! -e "$VERSION" ]; then
    rm -rf new
    mkdir new
    tar -xzf /files.tar.gz -C new
    mv new "$VERSION"
fi

use() { ln -sfn "$1" link && mv -T link current; } # at once: no reader sees a time without files
old=$(readlink current || true)
use "$VERSION"

# reports: what the running ones have written. They do so every second, but not while they load a configuration.
reports() { find /run/loaded -name '[!.]*' -type f -newermt '-30 seconds' -exec cat {} +; }

for _ in $(seq 60); do
    sleep 1
    waiting=$(reports | grep -vxF "$VERSION" || true)
    if [ -z "$waiting" ]; then
        touch /tmp/loaded # healthy
        # A program that started with an old version may still read its files; five versions are enough.
        # shellcheck disable=SC2012  # a version is letters and digits
        ls -dt [0-9a-f]* | tail -n +6 | xargs -r rm -rf
        find /run/loaded -type f -mmin +5 -delete
        exec sleep infinity
    fi
    case $waiting in
    *"$VERSION "*) break ;; # it has been tried
    esac
done
echo "Not loaded on this node: $waiting" >&2
[ -z "$old" ] || use "$old"
exit 1
