#!/bin/sh
# Gives the exporter Varnish's counters, in a file every two seconds, and its records of the requests to trace, in a named pipe.
# (Varnish's tools must be of varnishd's own version.) /var/lib/NAME is the folder of the Varnish NAME.
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

# trace NAME: writes the log records of the requests that nginx reports, too (nginx/observe/http.conf.template), with only those
# headers that name a request. While no program reads the pipe, the records are lost: nothing waits, and nothing is kept.
trace() {
    while :; do
        varnishlog -n "/var/lib/$1/varnishd" -t 1 -g request \
            -q 'ReqHeader:traceparent ~ "-01$" or RespStatus >= 500 or Timestamp:Resp[2] >= 0.09' \
            -i Begin,Link,ReqMethod,ReqURL,RespStatus,BerespStatus,FetchError,Timestamp,VCL_call,VCL_return,VCL_Log \
            -i VCL_use,Hit,HitMiss,HitPass,TTL,BackendOpen,ExpBan,ReqAcct \
            -I 'ReqHeader:^(?i)(traceparent|x-request-id|host):' >"$out/$1.pipe" 2>/dev/null
        sleep 2
    done
}
for folder in /var/lib/varnish*; do
    [ -p "$out/${folder##*/}.pipe" ] || mkfifo "$out/${folder##*/}.pipe"
    trace "${folder##*/}" &
done

while :; do
    for folder in /var/lib/varnish*; do
        name=${folder##*/}
        # Replace the file only by a complete one. While varnishd does not run, the last file stays, and its age shows the
        # exporter that Varnish is down.
        varnishstat -n "$folder/varnishd" -t 1 -j >"$out/$name.new" 2>/dev/null && mv "$out/$name.new" "$out/$name.json"
    done
    sleep 2
done
