#!/bin/sh
# Runs varnishd, in a container and as a plain process. The environment contains the settings (settings.sh); arguments are
# further options of varnishd, as with the official image.
set -eu
. "$(dirname "$0")/settings.sh"

# One varnishd for each folder: a second one, such as that of `docker compose run varnish`, would replace the first one's
# Unix socket. The kernel keeps the lock until varnishd has ended, even by a SIGKILL. varnishd closes all files that it
# inherits, except standard output, which it does not use with -F: that one becomes the lock.
exec 9>>"$VARNISH_WORKDIR.lock"
flock -w 2 9 || die "Another Varnish of this stack is running: it holds $VARNISH_WORKDIR.lock. This one has changed nothing, and ends."

# Each connection is an open file, and nginx may have 2,600. Docker 29 lets a process open 1,024, and raise that itself.
# shellcheck disable=SC3045  # dash has these options
{
    ulimit -Sn 20000 2>/dev/null || ulimit -Sn "$(ulimit -Hn)"
    [ "$(ulimit -n)" -ge 4000 ] || echo "Varnish may open only $(ulimit -n) files: too few for 2,600 connections of nginx." >&2
}

write_vcl
(umask 077 && head -c 32 /dev/urandom | base64 >"$secret")

# CLI commands that varnishd runs before it opens its ports. The label must exist before the VCL that names it.
# https://varnish-cache.org/docs/7.1/reference/varnishd.html (-I)
cat >"$VARNISH_GENERATED/first.cli" <<END
vcl.load $classic classic.vcl
vcl.label classic $classic
${APP:+vcl.load $app app.vcl
vcl.label app $app
}vcl.load $default default.vcl
vcl.use $default
END

# -i:         the name in Cache-Status
# nginx:      the listener of nginx, for the default host; nginx-tcp: the same for an nginx elsewhere, if there is one;
#             http: all other clients; purge: the backend; purge_app: your own application
# -s:         where the objects are stored: malloc,SIZE or file,PATH,SIZE. When it is full the least recently used
#             objects make room. A small object takes twice its size in all: the sum is in compose.yaml
# Transient:  responses that pass through without being stored; unlimited by default, which could exhaust the memory
# nuke_limit: how many objects one new object may evict. The default, 50, makes room for 16 kB if all are small, and
#             cuts the response off there; this is more than the storage can hold
# default_*:  a response without a stated lifetime is not stored; an expired copy may be revalidated by a 304 for an hour
# transit_buffer: how much of a response that is not stored waits for a slow client; unlimited by default. A parameter since 7.3
# critbit_cooloff: how long the index keeps a deleted URL's entry; with the default, 180 s, a flood of URLs takes 100 MB
# http_max_hdr: header lines of one message; nginx's limit is 32 kB, whatever their number
# vsl_space:  size of the log that varnishlog reads, in shared memory
# pcre2_match_limit: what a pattern of a purge may cost, for each address; when it is reached, Varnish ends
# rush_exponent: requests that have waited for a page that is not kept all go on at once; by default three at a time
# thread_*:   a request in progress is a thread. 2 pools of at most 200 stay within the container's pids_limit
# timeout_idle: longer than nginx keeps an idle connection, so that nginx is the one to close it
# https://varnish-cache.org/docs/7.1/reference/varnishd.html#list-of-parameters
case $VARNISH_LISTEN_APP_PURGE in /*) app_purge=$VARNISH_LISTEN_APP_PURGE,mode=666 ;; *) app_purge=$VARNISH_LISTEN_APP_PURGE ;; esac
transit_buffer=$(varnishd -x parameter | grep -m 1 -x transit_buffer) || :
exec varnishd -F -n "$VARNISH_WORKDIR" -f "" -I "$VARNISH_GENERATED/first.cli" -p "vcl_path=$VARNISH_GENERATED:$folder:${starter%/*}" \
    -T "$VARNISH_LISTEN_CLI" -S "$secret" -i "$VARNISH_NAME" \
    ${VARNISH_LISTEN_SOCKET:+-a "nginx=$VARNISH_LISTEN_SOCKET,mode=666"} ${VARNISH_LISTEN_NGINX:+-a "nginx-tcp=$VARNISH_LISTEN_NGINX"} \
    -a "http=$VARNISH_LISTEN" -a "purge=$VARNISH_LISTEN_PURGE" ${app_purge:+-a "purge_app=$app_purge"} \
    -s "$VARNISH_STORAGE" -s Transient=malloc,64m -p nuke_limit=1000000 -p vsl_space=32M \
    ${transit_buffer:+-p transit_buffer=128k} -p default_ttl=0 -p default_keep=3600 -p http_max_hdr=256 -p critbit_cooloff=60 \
    -p pcre2_match_limit=1000000 -p rush_exponent=50 -p thread_pools=2 -p thread_pool_min=50 -p thread_pool_max=200 \
    -p listen_depth=1024 -p timeout_idle=65 -p syslog_cli_traffic=off "$@" >&9
