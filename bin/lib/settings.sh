# shellcheck shell=bash
# Checks the settings before anything is started or changed: each where it is read, then what several have to do with each other and
# with this machine. A wrong value causes one line of output; a running stack continues as it is.

. bin/lib/machines.sh

check_settings() {
    name_unknown_settings
    if [ -n "${TLS_CERTIFICATE:-}${TLS_CERTIFICATE_KEY:-}" ]; then check_certificate; fi
    check_values
    check_addresses
    check_app
    check_machines
    if chosen extras/observe/compose.yaml && without upstage; then
        die "EXTRAS=observe shows a stack with UpStage. Type: make up EXTRAS=$EXTRAS ${APP:+APP=$APP }WITH=upstage,policyd,locust"
    fi
    [ -z "${OTLP:-}" ] || chosen extras/observe/compose.yaml || die "OTLP: only EXTRAS=observe sends traces. Type: make up EXTRAS=${EXTRAS:+$EXTRAS,}observe"
}

# check_container_settings: checks what restricts containers only: which files they see, and their memory.
check_container_settings() {
    local composed
    if [ -n "${TLS_CERTIFICATE:-}" ]; then check_mounted_certificate; fi
    # Without Python the check is left out.
    if [ "${VARNISH_STORAGE:-}${VARNISH_MEMORY:-}" ] && (require_python) 2>/dev/null; then
        composed=$(docker compose config --format json) || exit
        "${python[@]}" -m proscenium.storage <<<"$composed" || exit
    fi
}

# check_values: checks that each setting is empty, or as its kind wants it.
check_values() {
    (
        # Many a shell has a MACHINE of its own.
        chosen extras/edge/compose.yaml || unset FIRST_MACHINE OTHER_MACHINES MACHINE
        check_others
    ) || exit
    ask nginx/scripts/settings.sh : "${nginx_settings[@]}"
    ask varnish/settings.sh : "${varnish_settings[@]}"
}

# ask SCRIPT COMMANDS NAME...: runs the script of nginx or Varnish with these settings and no others, then the commands; exits with
# the last line that they print if one of them fails.
ask() {
    local name given=() said
    for name in "${@:3}"; do [ -z "${!name:-}" ] || given+=("$name=${!name}"); done
    said=$(env -i PATH="$PATH" "${given[@]}" sh -c "cd ${1%%/*} && . ./${1#*/} && $2" 2>&1) || die "$(tail -n 1 <<<"$said")"
}
# comparison_names_answer: succeeds if these names answer on the published ports; nginx has the rule.
comparison_names_answer() (ask nginx/scripts/settings.sh 'env | grep -qx COMPARISON_NAMES=on' BIND_ADDR COMPARISON_NAMES 2>/dev/null)

# name_unknown_settings: says which settings in .env nothing reads: a misspelt name would be ignored silently.
name_unknown_settings() {
    local name unknown=''
    for name in "${in_env_file[@]}"; do
        [ "$name" != MODE ] && ! is_known "$name" || continue
        [[ $name=${!name} =~ (=0?|^STRANGER_FETCHES=2)$ ]] || bash bin/gone "$name" || exit # as in an older .env.example
        unknown+=", $name"
    done
    [ -z "$unknown" ] || say "Nothing reads these settings in .env: ${unknown#, }. (.env.example has the list.)"
}

check_addresses() {
    local both
    ((${FTP_PASSIVE_PORTS%-*} <= ${FTP_PASSIVE_PORTS#*-})) || die "FTP_PASSIVE_PORTS must have the lowest port first, not '$FTP_PASSIVE_PORTS'"
    both=$(published_ports | awk '$2 in of && !found { found = 1; print of[$2] " and " $1 " both have port " $2 } { of[$2] = $1 }')
    [ -z "$both" ] || die "$both: each needs one of its own"
    case $BIND_ADDR in
    0.0.0.0 | 127.* | *:*) ;;
    *) check_local BIND_ADDR ', or 0.0.0.0' ;;
    esac
}

# check_local NAME [OR]: checks that the setting is an address in the kernel's table of local ones; an engine elsewhere has others.
check_local() {
    [ -n "${DOCKER_HOST:-}" ] || [ ! -r /proc/net/fib_trie ] ||
        awk -v wanted="${!1}" '/host LOCAL/ && last == wanted { found = 1 } { last = $2 } END { exit !found }' /proc/net/fib_trie ||
        die "$1 must be an IP address of this machine${2:-}, not '${!1}'"
}

check_certificate() {
    local name file
    # Compose takes a path that begins otherwise for the name of a volume.
    if [[ ${TLS_FOLDER:-} != [./]* ]] || [ ! -d "$TLS_FOLDER" ]; then
        die "TLS_FOLDER must be the folder of TLS_CERTIFICATE and TLS_CERTIFICATE_KEY, starting with / or ./, not '${TLS_FOLDER:-}'"
    fi
    for name in TLS_CERTIFICATE TLS_CERTIFICATE_KEY; do
        file=$TLS_FOLDER/${!name:-}
        [ -f "$file" ] || die "$name must be a file below TLS_FOLDER; there is no '$file' that you can see"
    done
    if has openssl; then ask nginx/scripts/settings.sh 'cd .. && choose_certificate' TLS_FOLDER TLS_CERTIFICATE TLS_CERTIFICATE_KEY; fi
}

# check_mounted_certificate: checks that nginx can read certificate and key: its container has only TLS_FOLDER, and nginx does not
# run as root there.
check_mounted_certificate() {
    local folder name file
    folder=$(readlink -f "$TLS_FOLDER")
    for name in TLS_CERTIFICATE TLS_CERTIFICATE_KEY; do
        file=$(readlink -f "$folder/${!name}")
        [[ $file == "$folder"/* ]] ||
            die "$name leads to '$file', and nginx's container has only TLS_FOLDER: choose a folder above both, or copy the file"
        [ -n "$(find "$file" -perm -004)" ] ||
            die "$name: nginx, which does not run as root, cannot read '$file'. Type: chmod a+r '$file', and a+x for its folders"
    done
}
