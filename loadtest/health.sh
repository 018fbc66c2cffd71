#!/bin/bash
# Health check of the Locust container: exit code 0 if the web UI answers, or the worker has a master. It is written in Bash,
# because starting Python was most of a check's CPU time, and checks never stop.
#
# A worker listens on no port, but it keeps a connection to its master, and Locust ends a worker after a minute without
# messages. So the check looks for that connection among those of this container.
if [ -n "${LOADTEST_MASTER:-}" ]; then
    # The columns: number, local address:port, remote address:port in hexadecimal, state; 01 is "established".
    # https://www.kernel.org/doc/html/latest/networking/proc_net_tcp.html
    printf -v port %04X "${LOCUST_MASTER_NODE_PORT:-5557}"
    if ! grep -Eq "^ *[0-9]+: [0-9A-F]+:[0-9A-F]+ [0-9A-F]+:$port 01 " /proc/net/tcp /proc/net/tcp6; then
        echo "no connection to the master"
        exit 1
    fi
    exit 0
fi
if ! { exec 3<>"/dev/tcp/127.0.0.1/${LOCUST_WEB_PORT:-8089}"; } 2>/dev/null; then
    echo "web UI does not answer"
    exit 1
fi
printf 'GET %s/ HTTP/1.0\r\nHost: localhost\r\n\r\n' "${LOCUST_WEB_BASE_PATH%/}" >&3
IFS=' ' read -r -t 3 _ status _ <&3
case $status in
200 | 302) ;; # with a web login the front page redirects to the login page
*)
    echo "web UI answers with an error: ${status:-nothing}"
    exit 1
    ;;
esac
