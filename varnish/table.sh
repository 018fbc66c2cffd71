# shellcheck shell=sh
# Written from settings.toml by `make settings`.

check 'unix:/PATH or HOST:PORT' 'unix:/[^][:space:]"$;{}\\:]+|[0-9A-Za-z._-]+:[0-9]{1,5}' APP_ADDRESS=
check 'sockets or tcp' 'sockets|tcp' ADDRESSES=sockets
check 'HOST:PORT, http://HOST:PORT or https://NAME:PORT, without a path' \
    '([0-9A-Za-z._-]+:[0-9]{1,5}|http://[0-9A-Za-z._-]+(:[0-9]{1,5})?|https://[0-9A-Za-z._-]*[A-Za-z][0-9A-Za-z._-]*(:[0-9]{1,5})?)/?' \
    APP=
check 'a path, such as /health' '/[0-9A-Za-z._~/?=%-]*' APP_HEALTH=
check 'a host name with one * for the service' '[0-9A-Za-z.-]*[*][0-9A-Za-z.-]*' 'HOSTS=*'
check 'varnish, or varnish- and a word such as varnish-2' 'varnish(-[a-z0-9.]+)*' VARNISH_NAME=varnish
check 'names, *.NAME, NAME.*, and addresses such as 192.0.2.7 and [2001:db8::7], separated by spaces' \
    ' *((([*]?[.])?[0-9A-Za-z_-]+([.][0-9A-Za-z_-]+)*|[0-9A-Za-z_-]+([.][0-9A-Za-z_-]+)*[.][*]|\[[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*\])( +|$))*' \
    SERVER_NAMES= APP_NAMES=
check 'three numbers, such as 127.42.0' '([0-9]{1,3}[.]){2}[0-9]{1,3}' NET=
check 'an absolute path' '/[^"$;{}\\]*' APP_RULES=/etc/app/rules.vcl
check 'an absolute path without spaces' '/[^[:space:]"\\:,]+' SOCKETS=/run/proscenium VARNISH_WORKDIR=/var/lib/varnish/varnishd \
    VARNISH_GENERATED=/tmp/varnish
check 'names, such as ref promo_*, separated by spaces' '[][0-9A-Za-z_.* -]*' IGNORE_ARGUMENTS= IGNORE_COOKIES=
check '/PATH or ADDRESS:PORT' '/[^[:space:]"\\:,]+|[0-9A-Za-z._-]+:[0-9]{1,5}' VARNISH_LISTEN_APP_PURGE=
check 'malloc,SIZE or file,/PATH,SIZE, such as malloc,128m' '(malloc|file,/[^,[:space:]]+),[1-9][0-9]*[kKmMgG]?' \
    VARNISH_STORAGE=malloc,128m
check 'one line' '.*' APP_RECIPE=
check 'names of lower-case letters, digits and hyphens' '[a-z0-9 -]*' THEATRES=
check 'a time, such as 300ms, 2s or 5m' '[1-9][0-9]{0,5}(ms|s|m)' APP_TIMEOUT=60s
