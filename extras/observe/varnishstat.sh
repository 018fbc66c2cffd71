#!/bin/sh
# Writes Varnish's counters into a file every two seconds: the exporter's container has no varnishstat, which must be of
# varnishd's own version. /var/lib/NAME is the folder of the Varnish NAME.
#
#   varnishstat.sh        write, for ever
#   varnishstat.sh check  the health check: every file is a recent one
out=/run/varnishstat

if [ "${1:-}" = check ]; then
    for folder in /var/lib/varnish*; do
        [ "$(find "$out/${folder##*/}.json" -mmin -0.2)" ] || exit 1
    done
    exit 0
fi
while :; do
    for folder in /var/lib/varnish*; do
        name=${folder##*/}
        # A file that is complete takes the place of the last one. Without a running varnishd the last one stays, and
        # grows old.
        varnishstat -n "$folder/varnishd" -t 1 -j >"$out/$name.new" 2>/dev/null && mv "$out/$name.new" "$out/$name.json"
    done
    sleep 2
done
