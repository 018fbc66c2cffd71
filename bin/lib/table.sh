# shellcheck shell=bash disable=SC2034  # used by other scripts
# Written from settings.toml by `make settings`.

# The settings of a user, and those of them that the scripts of nginx and of Varnish check.
settings=(BIND_ADDR HTTP_PORT HTTPS_PORT SERVER_NAMES TLS_FOLDER TLS_CERTIFICATE TLS_CERTIFICATE_KEY EXTRAS APP VARNISH_STORAGE
    UPSTAGE_ADMIN_PASSWORD LOCUST_WEB_PASSWORD SWF_PORT POLICY_FILE_PORT LOCUST_PORT WEB_PORT OBSERVE_PORT FTP_PORT
    FTP_PASSIVE_PORTS FTP_ADDRESS COMPARISON_NAMES HTTPS_REDIRECT TRUSTED_PROXIES PROXY_PROTOCOL APP_NAMES APP_HEADERS
    IGNORE_ARGUMENTS IGNORE_COOKIES APP_DEFAULT APP_HEALTH APP_TIMEOUT APP_MAX_UPLOAD APP_RECIPE APP_PURGE_PORT WITH THEATRES
    FIRST_MACHINE OTHER_MACHINES MACHINE COMPOSE_FILE COMPOSE_PROJECT_NAME CLASS_PORTS UPSTAGE_SIGNUP UPSTAGE_FESTIVAL
    BACKUP_KEEP VARNISH_MEMORY CLIENT_CONNECTIONS CLIENT_REQUESTS LOGIN_REQUESTS ANONYMOUS_FETCHES CLIENT_STAGE_CONNECTIONS
    UPSTAGE_CONNECTIONS_PER_ADDRESS OTLP TRACE_SHARE TRACE_SLOW LOCUST_WEB_USERNAME LOADTEST_PROCESSES THEATRES_SWF_PORT
    NATIVE_NET HEALTH_INTERVAL UPSTAGE_MAX_UNREAD OTLP_HEADERS CLASS_SUBNETS CLASS_CPUS LOADTEST_WORKERS LOADTEST_PLAYER
    LOADTEST_PASSWORD NGINX_IMAGE VARNISH_IMAGE PYTHON_IMAGE LOCUST_IMAGE PROMETHEUS_IMAGE BACKEND_IMAGE POLICYD_IMAGE
    LAB_BASE_IMAGE LAB_MTU)
nginx_settings=(BIND_ADDR HTTP_PORT HTTPS_PORT SERVER_NAMES TLS_FOLDER TLS_CERTIFICATE TLS_CERTIFICATE_KEY APP COMPARISON_NAMES
    HTTPS_REDIRECT TRUSTED_PROXIES PROXY_PROTOCOL APP_NAMES APP_HEADERS APP_DEFAULT APP_TIMEOUT APP_MAX_UPLOAD THEATRES
    CLIENT_CONNECTIONS CLIENT_REQUESTS LOGIN_REQUESTS CLIENT_STAGE_CONNECTIONS TRACE_SHARE)
varnish_settings=(SERVER_NAMES APP VARNISH_STORAGE APP_NAMES IGNORE_ARGUMENTS IGNORE_COOKIES APP_HEALTH APP_TIMEOUT APP_RECIPE
    THEATRES)
# The ports of this machine: NAME=DEFAULT, and the Compose file of the extra that publishes it.
ports=(HTTP_PORT=8080 HTTPS_PORT=8443 SWF_PORT=7230 POLICY_FILE_PORT=3000 LOCUST_PORT=8089 WEB_PORT=8081 OBSERVE_PORT=9090
    FTP_PORT=2121 FTP_PASSIVE_PORTS=2122-2131 APP_PURGE_PORT=6081)
declare -A published_by=(
    [WEB_PORT]=extras/direct/compose.yaml
    [OBSERVE_PORT]=extras/observe/compose.yaml
    [FTP_PORT]=extras/webcam/compose.yaml
    [FTP_PASSIVE_PORTS]=extras/webcam/compose.yaml
    [APP_PURGE_PORT]=extras/app/host.yaml
)
# The sites for comparisons (topologies.toml), as `make up` prints them, without the port.
comparison=('the setup of 2011    http://classic.localhost' 'nginx, no cache      http://nginx.localhost'
    'files from nginx     http://static.localhost')

# The settings that neither nginx nor Varnish reads.
check_others() {
    check 'a number of cores from 0.1 to 99, such as 0.5' '[1-9][0-9]?([.][0-9])?|0[.][1-9]' CLASS_CPUS=
    check 'a time, such as 1s' '([0-9]+([.][0-9]+)?(ms|s|m|h))+' HEALTH_INTERVAL=
    check 'NAME=VALUE, separated by commas' '([0-9A-Za-z-]+=[^,[:cntrl:]]+(,|$))*' OTLP_HEADERS=
    check 'a multiple of 100 from 1000 to 64900, such as 20000' '([1-9][0-9]|[1-5][0-9]{2}|6[0-4][0-9])00' CLASS_PORTS=
    check 'an IPv4 address' '([0-9]{1,3}[.]){3}[0-9]{1,3}' FTP_ADDRESS= FIRST_MACHINE= MACHINE=
    check 'IPv4 addresses, separated by spaces' '([0-9]{1,3}[.]){3}[0-9]{1,3}( ([0-9]{1,3}[.]){3}[0-9]{1,3})*' OTHER_MACHINES=
    check 'a whole number, 1 or more' '[1-9][0-9]{0,8}' UPSTAGE_CONNECTIONS_PER_ADDRESS= UPSTAGE_MAX_UNREAD=
    check 'one line without spaces at its ends' '[^[:space:][:cntrl:]]([^[:cntrl:]]*[^[:space:][:cntrl:]])?' \
        UPSTAGE_ADMIN_PASSWORD=
    check http://HOST:PORT 'https?://[0-9A-Za-z._-]+(:[0-9]{1,5})?(/[0-9A-Za-z._/-]*)?' OTLP=
    check 'ports from 1 to 65535, the lowest one first, such as 2122-2131' \
        '([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])(-([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?' \
        FTP_PASSIVE_PORTS=
    check 'a number from 1 to 12, which fit into its container, or -1 for one for each core' '-1|[1-9]|1[0-2]' \
        LOADTEST_PROCESSES=
    check 'lower-case letters, digits, - and _' '[a-z0-9][a-z0-9_-]*' COMPOSE_PROJECT_NAME=
    check 'open or closed' 'open|closed' UPSTAGE_SIGNUP=
    check 'a size, such as 100m' '[1-9][0-9]*[kKmMgG]?' VARNISH_MEMORY=
    check 'a range such as 10.213.0.0/18' '[1-9][0-9]{0,2}[.][0-9]{1,3}[.](0|64|128|192)[.]0/18' CLASS_SUBNETS=
    check 'on or off' 'on|off' UPSTAGE_FESTIVAL=
    check 'one line' '.*' EXTRAS= LOCUST_WEB_PASSWORD= WITH= COMPOSE_FILE= LOCUST_WEB_USERNAME= NATIVE_NET= LOADTEST_PLAYER= \
        LOADTEST_PASSWORD= NGINX_IMAGE= VARNISH_IMAGE= PYTHON_IMAGE= LOCUST_IMAGE= PROMETHEUS_IMAGE= BACKEND_IMAGE= \
        POLICYD_IMAGE= LAB_BASE_IMAGE=
    check 'a time, such as 300ms, 2s or 5m' '[1-9][0-9]{0,5}(ms|s|m)' TRACE_SLOW=
    check 'a whole number from 0 to 50' '[0-9]|[1-4][0-9]|50' ANONYMOUS_FETCHES=
    check 'a whole number from 1 to 65535' \
        '[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]' SWF_PORT= POLICY_FILE_PORT= \
        LOCUST_PORT= WEB_PORT= OBSERVE_PORT= FTP_PORT= APP_PURGE_PORT= THEATRES_SWF_PORT= LAB_MTU=
    check 'a whole number from 1 to 9999' '[1-9][0-9]{0,3}' BACKUP_KEEP= LOADTEST_WORKERS=
}
