#!/bin/sh
# How varnishd runs, in a container and as a plain process.
# start.sh [HOST [OPTION...]]: the address to listen on (all of them), and more options for varnishd.
set -eu
. "$(dirname "$0")/settings.sh"
[ $# -eq 0 ] || shift

write_vcl
(umask 077 && head -c 32 /dev/urandom | base64 >"$secret")

# What varnishd is told before it opens. The label comes before the VCL that names it.
cat >"$generated/first.cli" <<END
vcl.load $classic classic.vcl
vcl.label classic $classic
vcl.load $default default.vcl
vcl.use $default
END

# unix:       nginx, for the default host; http: whoever speaks TCP; admin: the backend, to purge
# -s:         where the objects are kept. malloc,SIZE or file,PATH,SIZE; what does not fit is thrown out, the least
#             recently used first. Around a small object there is as much again: compose.yaml has the sum
# Transient:  what passes through without being kept; unlimited by default, and so the way to run out of memory
# nuke_limit: how many objects one new object may throw out. 50, the default, make room for 16 kB where all are small,
#             and the answer ends there; this is more than there can be
# default_*:  an answer that does not say how long it is good is not kept, and a copy that is no longer good may
#             still be confirmed by a 304 for an hour
# critbit_cooloff: how long the place of a URL that is gone is kept; three minutes of a flood of URLs would be 100 MB
# http_max_hdr: of one message; nginx's limit is 32 kB, whatever their number
# vsl_space:  the log that varnishlog reads, in shared memory
# thread_*:   a request in progress is a thread. 2 pools of at most 200 keep within the container's pids_limit
# timeout_idle: longer than nginx keeps an unused connection open, so that nginx is the one to close it
exec varnishd -F -f "" -I "$generated/first.cli" -p "vcl_path=$generated:$folder" -T "$cli" -S "$secret" \
    -a "unix=$sockets/varnish.sock,mode=666" -a "http=$host:8080" -a "admin=$host:8082" \
    -s "${VARNISH_STORAGE:-malloc,128m}" -s Transient=malloc,64m -p nuke_limit=1000000 -p vsl_space=32M \
    -p default_ttl=0 -p default_keep=3600 -p http_max_hdr=256 -p critbit_cooloff=60 \
    -p thread_pools=2 -p thread_pool_min=50 -p thread_pool_max=200 \
    -p listen_depth=1024 -p timeout_idle=65 -p syslog_cli_traffic=off "$@"
