#!/bin/sh
# Writes Varnish's counters into a file every two seconds: the exporter's container has no varnishstat, which must be of
# varnishd's own version. /var/lib/NAME is the folder of the Varnish NAME.
#
#   varnishstat.sh        writes, for ever
#   varnishstat.sh check  the health check: succeeds if every file is recent
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
        # Replace the file only by a complete one. While varnishd does not run, the last file stays, and its age shows the
        # exporter that Varnish is down.
        varnishstat -n "$folder/varnishd" -t 1 -j >"$out/$name.new" 2>/dev/null && mv "$out/$name.new" "$out/$name.json"
    done
    sleep 2
done
