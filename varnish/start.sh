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
#             recently used first
# Transient:  what passes through without being kept; unlimited by default, and so the way to run out of memory
# vsl_space:  the log that varnishlog reads, in shared memory
# thread_*:   a request in progress is a thread. 2 pools of at most 200 keep within the container's pids_limit
# timeout_idle: longer than nginx keeps an unused connection open, so that nginx is the one to close it
exec varnishd -F -f "" -I "$generated/first.cli" -p "vcl_path=$generated:$folder" -T "$cli" -S "$secret" \
    -a "unix=$sockets/varnish.sock,mode=666" -a "http=$host:8080" -a "admin=$host:8082" \
    -s "${VARNISH_STORAGE:-malloc,256m}" -s Transient=malloc,96m -p vsl_space=32M \
    -p thread_pools=2 -p thread_pool_min=50 -p thread_pool_max=200 \
    -p listen_depth=1024 -p timeout_idle=65 -p syslog_cli_traffic=off "$@"
