# shellcheck shell=bash
# Checks the settings before anything is started or changed: by the rules of the service that reads a setting, where it has
# some. A wrong value costs one line; a running stack goes on as it is.

check_settings() {
    name_unknown_settings
    check_addresses
    ask_nginx 'cd nginx && . scripts/settings.sh' \
        SERVER_NAMES HTTPS_PORT HTTPS_REDIRECT CLIENT_CONNECTIONS CLIENT_REQUESTS LOGIN_REQUESTS CLIENT_STAGE_CONNECTIONS
    if [ -n "${TLS_CERTIFICATE:-}${TLS_CERTIFICATE_KEY:-}" ]; then check_certificate; fi
    ask VARNISH_STORAGE -- sh -c '. "$0"' varnish/settings.sh
    check_storage
    if has python3 && python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then # else it says so when it starts
        ask UPSTAGE_ADMIN_PASSWORD UPSTAGE_SIGNUP UPSTAGE_FESTIVAL UPSTAGE_MAX_UNREAD UPSTAGE_CONNECTIONS_PER_ADDRESS -- \
            env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=backend/src \
            python3 -c 'import sys; from upstage.cli import main; sys.exit(main(["settings"]))'
    fi
    must HEALTH_INTERVAL '([0-9]+(\.[0-9]+)?(ms|s|m|h))+' 'a time, such as 1s'
    must FTP_ADDRESS '([0-9]{1,3}\.){3}[0-9]{1,3}' 'an IPv4 address'
    must LOADTEST_PROCESSES '-1|[1-9][0-9]{0,2}' 'a number, or -1 for one for each core'
    must LOADTEST_WORKERS '[1-9][0-9]{0,2}' 'a number'
}

# must NAME PATTERN MEANING: the setting is empty, or matches the extended regular expression.
must() { [ -z "${!1:-}" ] || [[ ${!1} =~ ^($2)$ ]] || die "$1 must be $3, not '${!1}'"; }

# ask NAME... -- COMMAND...: the command, with these settings and no others, accepts them; else the last line that it prints is
# the reason.
ask() {
    local settings=() said
    while [ "$1" != -- ]; do
        if [ -n "${!1:-}" ]; then settings+=("$1=${!1}"); fi
        shift
    done
    said=$(env -i PATH="$PATH" "${settings[@]}" "${@:2}" 2>&1) || die "$(tail -n 1 <<<"$said")"
}
ask_nginx() { ask "${@:2}" -- sh -c "$1"; }

# A misspelt name would be ignored in silence.
name_unknown_settings() {
    local known name unknown=''
    [ -f .env ] || return 0
    known=" $({ sed -n 's/^\([A-Z_]*\)=.*/\1/p' .env.example && grep -oh '${[A-Z_]*' compose.yaml extras/*/compose.yaml; } | tr -d '${' | tr '\n' ' ')"
    while read -r name; do
        [[ $known == *" $name "* ]] || unknown+=", $name"
    done < <(sed -n 's/^[[:space:]]*\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p' .env)
    [ -z "$unknown" ] || say "Nothing reads these settings in .env: ${unknown#, }. (.env.example has the list.)"
}

check_addresses() {
    local name port
    while read -r name _; do
        must "$name" '[0-9]{1,5}(-[0-9]{1,5})?' 'a port'
        for port in "${!name%-*}" "${!name#*-}"; do
            ((10#$port >= 1 && 10#$port <= 65535)) || die "$name must be a port from 1 to 65535, not '$port'"
        done
    done < <(ports_in compose.yaml extras/*/compose.yaml && echo THEATRES_SWF_PORT)
    case $BIND_ADDR in
    0.0.0.0 | 127.* | *:* | localhost) ;;
    *) # the kernel's table of local addresses; an engine elsewhere has others
        [ -n "${DOCKER_HOST:-}" ] || [ ! -r /proc/net/fib_trie ] ||
            awk -v wanted="$BIND_ADDR" '/host LOCAL/ && last == wanted { found = 1 } { last = $2 } END { exit !found }' /proc/net/fib_trie ||
            die "BIND_ADDR must be an address of this machine, or 0.0.0.0, not '$BIND_ADDR'"
        ;;
    esac
}

check_certificate() {
    local name file
    [ -d "${TLS_FOLDER:-}" ] || die "TLS_FOLDER must be the folder of TLS_CERTIFICATE and TLS_CERTIFICATE_KEY, not '${TLS_FOLDER:-}'"
    for name in TLS_CERTIFICATE TLS_CERTIFICATE_KEY; do
        file=$TLS_FOLDER/${!name:-}
        [ -f "$file" ] || die "$name must be a file below TLS_FOLDER; there is no '$file'"
        [ "${MODE:-}" = native ] || [ -n "$(find -L "$file" -perm -004)" ] ||
            die "$name: nginx, which does not run as root, may not read '$file'. Type: chmod a+r '$file'"
    done
    if has openssl; then
        ask_nginx "cd nginx && . scripts/settings.sh && cd .. && . nginx/scripts/certificate.sh" TLS_FOLDER TLS_CERTIFICATE TLS_CERTIFICATE_KEY
    fi
}

# A small object takes twice its size in all, and Varnish 256 MB besides (compose.yaml has the sum).
check_storage() {
    local size limit=${VARNISH_MEMORY:-512m}
    must VARNISH_MEMORY '[0-9]+[kKmMgG]?' 'a size, such as 512m'
    [[ ${VARNISH_STORAGE:-} =~ ^malloc,([0-9]+[kKmMgG]?)$ ]] || return 0
    size=$(($(bytes "${BASH_REMATCH[1]}") / 1048576 * 2 + 256))
    [ $((size * 1048576)) -le "$(bytes "$limit")" ] ||
        die "VARNISH_STORAGE=$VARNISH_STORAGE needs more than Varnish's container may have: set VARNISH_MEMORY=${size}m, or a smaller storage"
}
bytes() {
    local size=${1%[kKmMgG]}
    case $1 in *[kK]) size=$((size * 1024)) ;; *[mM]) size=$((size * 1048576)) ;; *[gG]) size=$((size * 1073741824)) ;; esac
    echo "$size"
}
