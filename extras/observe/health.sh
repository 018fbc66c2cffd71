#!/bin/bash
# Health check of the exporter: exit code 0 if it answers. It is written in Bash, because starting Python
# took most of a check's CPU time.
[ -S /run/observe/nginx.sock ] || exit 1
exec 3<>/dev/tcp/127.0.0.1/9100 || exit 1
printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
read -r -t 3 status <&3 && [[ $status == *' 200 '* ]]
