# shellcheck shell=sh
# Written from settings.toml by `make settings`.

check 'unix:/PATH or HOST:PORT' 'unix:/[^][:space:]"$;{}\\:]+|[0-9A-Za-z._-]+:[0-9]{1,5}' APP_ADDRESS=
check 'sockets or tcp' 'sockets|tcp' ADDRESSES=sockets
check 'HOST:PORT, http://HOST:PORT or https://NAME:PORT, without a path' \
    '([0-9A-Za-z._-]+:[0-9]{1,5}|http://[0-9A-Za-z._-]+(:[0-9]{1,5})?|https://[0-9A-Za-z._-]*[A-Za-z][0-9A-Za-z._-]*(:[0-9]{1,5})?)/?' \
    APP=
check 'names of request headers, such as X-Theme, separated by spaces' '[0-9A-Za-z -]*' APP_HEADERS=
check 'a host name with one * for the service' '[0-9A-Za-z.-]*[*][0-9A-Za-z.-]*' 'HOSTS=*'
check 'an IP address of this machine, or 0.0.0.0' '([0-9]{1,3}[.]){3}[0-9]{1,3}|\[?[0-9A-Fa-f]*:[0-9A-Fa-f:.]*\]?' BIND_ADDR=
check 'IPv4 addresses, separated by spaces' '([0-9]{1,3}[.]){3}[0-9]{1,3}( ([0-9]{1,3}[.]){3}[0-9]{1,3})*' MACHINES=
check 'unix:/PATH, without a comma' 'unix:/[^][:space:]"$;{}\\,:]+' OBSERVE_LOG=
check 'an absolute path, or off' '/[^"$;{}\\]*|off' MEDIA_FOLDER=/srv/media
check 'names, *.NAME, NAME.*, and addresses such as 192.0.2.7 and [2001:db8::7], separated by spaces' \
    ' *((([*]?[.])?[0-9A-Za-z_-]+([.][0-9A-Za-z_-]+)*|[0-9A-Za-z_-]+([.][0-9A-Za-z_-]+)*[.][*]|\[[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*\])( +|$))*' \
    SERVER_NAMES= APP_NAMES=
check 'three numbers, such as 127.42.0' '([0-9]{1,3}[.]){2}[0-9]{1,3}' NET=
check 'an absolute path' '/[^"$;{}\\]*' CERTIFICATE_FOLDER=/var/tmp GENERATED_FOLDER=/etc/nginx/generated PREFIX=/tmp
check 'an absolute path with one * for the name' '/[^"$;{}\\*]*[*][^"$;{}\\*]*' 'THEATRES_MEDIA_FOLDER=/srv/theatres/*'
check 'an absolute path without spaces' '/[^[:space:]"\\:,]+' SOCKETS=/run/proscenium
check 'addresses and networks, such as 192.0.2.7 and 10.0.0.0/8, separated by spaces' ' *([0-9A-Fa-f.:]+(/[0-9]{1,3})?( +|$))*' \
    TRUSTED_PROXIES=
check 'a number from 0.01 to 100' '100|[1-9][0-9]?([.][0-9]{1,2})?|0[.](0[1-9]|[1-9][0-9]?)' TRACE_SHARE=1
check 'a size, such as 100m' '[1-9][0-9]*[kKmMgG]?' APP_MAX_UPLOAD=100m
check 'on or off' 'on|off' COMPARISON_NAMES= HTTPS_REDIRECT=off PROXY_PROTOCOL=off APP_DEFAULT=off CDN=off
check 'one line' '.*' TLS_FOLDER= TLS_CERTIFICATE= TLS_CERTIFICATE_KEY= NAME_SERVERS=
check 'names of lower-case letters, digits and hyphens' '[a-z0-9 -]*' THEATRES=
check 'a time, such as 300ms, 2s or 5m' '[1-9][0-9]{0,5}(ms|s|m)' APP_TIMEOUT=60s CONNECT_TIMEOUT=2s
check 'a whole number from 1 to 65535' '[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]' \
    HTTP_PORT=8080 HTTPS_PORT=8443 CLIENT_CONNECTIONS=400 CLIENT_STAGE_CONNECTIONS=1000 BACKEND_CONNECTIONS=6500
check 'a whole number from 1 to 999999' '[1-9][0-9]{0,5}' CLIENT_REQUESTS=300 LOGIN_REQUESTS=30
