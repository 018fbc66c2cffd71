# shellcheck shell=bash
# Sourced first by every command: the project folder, the user's settings, and output.
set -euo pipefail
unset CDPATH
# shellcheck disable=SC2046  # names
unset -f $(compgen -A function) # a shell can export functions, and one may have the name of a program
cd "${BASH_SOURCE[0]%/*}/../.."

# Colours on a terminal only, and not where the user wants none (https://no-color.org).
if [ -t 1 ] && [ -t 2 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' off=$'\e[0m'; else bold='' dim='' red='' off=''; fi
say() { printf '%s\n' "$*"; }
step() { printf '%s==> %s%s %s(%d s)%s\n' "$bold" "$*" "$off" "$dim" "$SECONDS" "$off"; }
die() {
    printf '%s%s%s\n' "$red" "$*" "$off" >&2
    exit "${die_status:-1}"
}

# For `trap`. interrupted SENTENCE: after Ctrl-C says what is there now, or what to type. (The program that ran has got the signal,
# too.)
interrupted() {
    trap '' INT TERM
    die_status=130 die "Interrupted. $*"
}

# quietly NAME COMMAND...: sends the command's output to a log file; shows the end of it, and $hint, if the command fails. (A
# function of ours would tell the user nothing: the command that was typed stands for it.)
quietly() {
    local log=".run/logs/$1.log" failed="${*:2}"
    if [ "$(type -t "$2")" = function ]; then failed="make $asked"; fi
    shift
    mkdir -p .run/logs
    if ! ("$@") >"$log" 2>&1 </dev/null; then # in a shell of its own: what a trap of ours says is not for the log
        tail -n 30 "$log" >&2
        die "Failed: $failed (full output: $log)${hint:+$'\n'$hint}"
    fi
}

. bin/lib/environment.sh
load_env
# Compose's own setting for another separator of COMPOSE_FILE.
if [ -n "${COMPOSE_PATH_SEPARATOR:-}" ]; then COMPOSE_FILE=${COMPOSE_FILE:+${COMPOSE_FILE//"$COMPOSE_PATH_SEPARATOR"/:}}; fi
export COMPOSE_PATH_SEPARATOR=:

export COMPOSE_PROJECT_NAME=${COMPOSE_PROJECT_NAME:-proscenium}
export BIND_ADDR=${BIND_ADDR:-127.0.0.1}

. bin/lib/table.sh
# The ports on this machine: readers have `published`, with the file if it is that of an extra.
ports=()
for name in "${settings[@]}"; do
    if [[ ${readers_of[$name]} == *published* ]]; then ports+=("$name") && export "$name=${!name:-${default_of[$name]}}"; fi
done

# The command that was typed.
asked=${0##*/}
if [ "$asked" = stack ]; then asked=${1:-}; fi

# The state of this copy of the stack between commands.
state=.run/$COMPOSE_PROJECT_NAME
mirror_is_active=$state/mirror-is-active # the file is there while it is (bin/mirror)
# Keeps pip from the index where a bundle has brought the Python packages into this folder (make bundle).
if [ -d .run/wheels ]; then export PIP_NO_INDEX=1 PIP_FIND_LINKS=$PWD/.run/wheels; fi

# require_engine: exits with a message unless this user may ask the engine.
require_engine() { [[ $(docker ps 2>&1 >/dev/null) != *"permission denied"* ]] || die "$engine_denied"; }
engine_denied="This user may not use the container engine: it is not in the group docker. Type: sudo usermod -aG docker $(id -un), and sign in again"

# active_server: the service with the newest data, where all users are: the backend, or the mirror (extras/mirror).
active_server() { if [ -e "$mirror_is_active" ]; then echo mirror; else echo backend; fi; }

. bin/lib/theatres.sh
export APP=${APP:-} WITH=${WITH:-}
APP=${APP%/} # as copied from a browser
. bin/lib/app.sh

override=compose.override.yaml
# override_is_ours: succeeds if the file is as `make up` has written it (offline/images.sh): the rest has the checksum in its first
# line. An earlier version made a link.
override_is_ours() {
    [ "$(readlink $override)" = offline/compose.yaml ] ||
        { [ -e $override ] && [ "$(sed -n '1s/^# Written by make up.*(\(.*\))$/\1/p' $override)" = "$(tail -n +2 $override | cksum)" ]; }
}

# EXTRAS chooses Compose files, unless the user has set COMPOSE_FILE. The user's override comes last, so it wins. Ours is left
# out: only plain Compose commands need it, because `make` exports the image names.
users_files=${COMPOSE_FILE:-}
choose_files() {
    COMPOSE_FILE=$users_files
    if [ -z "$users_files" ]; then choose_extras; else choose_mirror; fi
    export COMPOSE_FILE
}
# choose_mirror: if the mirror is active, it runs whatever EXTRAS says.
choose_mirror() {
    if [ -e "$mirror_is_active" ]; then
        chosen extras/mirror/compose.yaml || COMPOSE_FILE+=:extras/mirror/compose.yaml
        COMPOSE_FILE+=:extras/mirror/active.yaml
    fi
}
choose_extras() {
    local extra extras=${EXTRAS:-} known file
    COMPOSE_FILE=compose.yaml
    for extra in ${extras//,/ }; do
        if [ ! -e "extras/$extra/compose.yaml" ]; then
            bash bin/gone "EXTRAS=$extra" || exit
            known=(extras/*/compose.yaml)
            known=("${known[@]%/compose.yaml}")
            die "EXTRAS names '$extra'; there are only: ${known[*]#extras/}."
        fi
        COMPOSE_FILE+=:extras/$extra/compose.yaml
    done
    if chosen extras/app/compose.yaml; then
        extras=$(app_files) || exit
        COMPOSE_FILE+=${extras:+:${extras//$'\n'/:}}
    fi
    if chosen extras/observe/compose.yaml && chosen extras/ring/compose.yaml; then COMPOSE_FILE+=:extras/observe/ring.yaml; fi
    if chosen extras/observe/compose.yaml && [ "${OTLP:-}" ]; then COMPOSE_FILE+=:extras/observe/otlp.yaml; fi
    if chosen extras/edge/compose.yaml && [ "${MACHINE:-}" != "${FIRST_MACHINE:-}" ]; then COMPOSE_FILE+=:extras/edge/other.yaml; fi
    for file in "$theatres_folder"/*.yaml; do
        if [ -e "$file" ]; then COMPOSE_FILE+=:$file; fi
    done
    choose_mirror
    if chosen extras/mirror/compose.yaml && chosen extras/ring/compose.yaml; then COMPOSE_FILE+=:extras/mirror/ring.yaml; fi
    if [ -e $override ] && ! override_is_ours; then COMPOSE_FILE+=:$override; fi
}
# chosen FILE: succeeds if FILE is one of the Compose files in use.
chosen() { [[ :$COMPOSE_FILE: == *:"$1":* ]]; }
# is_other_machine: succeeds if this machine is one of several and runs neither backend nor Locust (extras/edge).
is_other_machine() { chosen extras/edge/other.yaml; }
choose_files

# reason_in OUTPUT: prints the line that says why a service failed: the last one with a word such as "error", else the last one.
reason_in() {
    grep -E 'must be|expected|there is no|cannot|denied|[Ee]rror|emerg' <<<"$1" | tail -n 1 | grep . || tail -n 1 <<<"$1"
}

# locust_changed_since TIME: succeeds if a file that Locust reads only when it starts has changed.
locust_changed_since() {
    [ -n "$(find loadtest \( -name tests -o -name examples \) -prune -o \( -name '*.py' -o -name '*.conf' -o -name '*.toml' \) -newermt "$1" -print -quit)" ]
}

# Says why Locust is not restarted: it would stop, and could not start again.
refuse_locust() {
    echo "Locust goes on with its old files: the lines above say what is wrong." >&2
    return 1
}

# A command for sh with the argument ADDRESS:PORT: prints when the certificate that is served there expires.
# shellcheck disable=SC2034,SC2016  # used in either mode; the other shell expands it
certificate_end='openssl s_client -connect "$1" </dev/null 2>/dev/null | openssl x509 -noout -enddate'

# port_taken PORT [ADDRESS]: prints the address on which a program answers at that port: BIND_ADDR, or the one that
# browsers try first for localhost. Fails if none does.
port_taken() {
    local address addresses=("${2:-$BIND_ADDR}")
    case ${addresses[0]} in 127.* | 0.0.0.0 | *'[::]'* | ::) addresses+=('[::1]') ;; esac
    for address in "${addresses[@]}"; do
        if (exec 3<>"/dev/tcp/$(tr -d '[]' <<<"$address")/$1") 2>/dev/null; then
            echo "$address"
            return
        fi
    done
    return 1
}

# Prints the ports of the Compose files in use and of the theatres, as lines of "variable number"; a range becomes a line
# for each port.
published_ports() {
    local name port of
    for name in "${ports[@]}"; do
        of=${readers_of[$name]#*published}
        if [ -n "$of" ] && ! chosen "${of#:}"; then continue; fi
        for ((port = ${!name%-*}; port <= ${!name#*-}; port++)); do echo "$name $port"; done
    done
    theatre_ports
}

# other_ports VARIABLE: prints the setting to type if one of its ports is taken: a thousand higher.
other_ports() {
    local now=${!1}
    if [[ $now == *-* ]]; then echo "$1=$((${now%-*} + 1000))-$((${now#*-} + 1000))"; else echo "$1=$((now + 1000))"; fi
}

is_root() { [ "$EUID" = 0 ]; }
has() { command -v "$1" >/dev/null 2>&1; }
is_debian_like() { has apt-get && grep -qE '^ID(_LIKE)?=.*(debian|ubuntu)' /etc/os-release; }

may_install() { is_root && is_debian_like; }

# require_python WHAT: exits with a message about WHAT unless this machine has it.
require_python() {
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || die "$1 needs Python 3.11 or newer on this machine."
}

# Installs distribution packages without starting their services, which would take our ports.
install_packages() {
    local guard=/usr/sbin/policy-rc.d
    if [ -e $guard ]; then guard=; else printf '#!/bin/sh\nexit 101\n' >$guard && chmod +x $guard; fi
    # shellcheck disable=SC2064  # the path is known now
    trap "rm -f $guard" RETURN EXIT
    export DEBIAN_FRONTEND=noninteractive
    quietly apt-update apt-get -o DPkg::Lock::Timeout=300 update
    quietly "apt-$1" apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@"
}
