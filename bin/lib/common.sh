# shellcheck shell=bash
# Sourced first by every command: where we are, what the user has set, and how we talk.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# Colour only for people.
if [ -t 1 ]; then bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' off=$'\e[0m'; else bold='' dim='' red='' off=''; fi
say() { printf '%s\n' "$*"; }
step() { printf '%s==> %s%s %s(%d s)%s\n' "$bold" "$*" "$off" "$dim" "$SECONDS" "$off"; }
die() {
    printf '%s%s%s\n' "$red" "$*" "$off" >&2
    exit 1
}

# Runs a command quietly: its output goes to a file, and is shown only when it fails.
quietly() {
    local log=".run/logs/$1.log"
    shift
    mkdir -p .run/logs
    if ! "$@" >"$log" 2>&1 </dev/null; then
        tail -n 30 "$log" >&2
        die "That failed: $* (all of its output: $log)"
    fi
}

# .env as Compose reads it: the environment wins over the file.
load_env() {
    local line name
    [ -f .env ] || return 0
    while IFS= read -r line || [ -n "$line" ]; do
        [[ $line =~ ^[[:space:]]*([A-Za-z_][A-Za-z0-9_]*)=(.*)$ ]] || continue
        name=${BASH_REMATCH[1]} line=${BASH_REMATCH[2]}
        if [[ $line =~ ^\"(.*)\"$ || $line =~ ^\'(.*)\'$ ]]; then line=${BASH_REMATCH[1]}; fi
        [ -n "${!name+set}" ] || export "$name=$line"
    done <.env
}
load_env

export COMPOSE_PROJECT_NAME=${COMPOSE_PROJECT_NAME:-proscenium}
export BIND_ADDR=${BIND_ADDR:-127.0.0.1} HTTP_PORT=${HTTP_PORT:-8080} HTTPS_PORT=${HTTPS_PORT:-8443}
export SWF_PORT=${SWF_PORT:-7230} POLICY_FILE_PORT=${POLICY_FILE_PORT:-3000} LOCUST_PORT=${LOCUST_PORT:-8089}
export SECOND_SWF_PORT=${SECOND_SWF_PORT:-7231}
export FTP_PORT=${FTP_PORT:-2121} FTP_PASSIVE_PORTS=${FTP_PASSIVE_PORTS:-2122-2131}

# What this copy of the house remembers between commands.
state=.run/$COMPOSE_PROJECT_NAME
mode() { cat "$state/mode" 2>/dev/null || true; } # containers, native or nothing
remember_mode() { mkdir -p "$state" && echo "$1" >"$state/mode"; }

# What `make load` plays, whichever way the house is open.
# shellcheck disable=SC2034  # used by containers.sh and native.sh
load_run=(--headless --users 20 --spawn-rate 10 --run-time 30s --only-summary --chat-rate 20 --thresholds verdict/thresholds.toml)

port_taken() { (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null; }

# The published ports as "variable number", one a line.
published_ports() {
    local name
    for name in HTTP_PORT HTTPS_PORT SWF_PORT SECOND_SWF_PORT POLICY_FILE_PORT LOCUST_PORT; do echo "$name ${!name}"; done
}

is_root() { [ "$(id -u)" = 0 ]; }
has() { command -v "$1" >/dev/null 2>&1; }
is_debian_like() { has apt-get && grep -qE '^ID(_LIKE)?=.*(debian|ubuntu)' /etc/os-release; }

may_install() { is_root && is_debian_like; }

# Installs distribution packages without letting them start their services: we start what we need ourselves.
install_packages() {
    local guard=/usr/sbin/policy-rc.d
    if [ -e $guard ]; then guard=; else printf '#!/bin/sh\nexit 101\n' >$guard && chmod +x $guard; fi
    # shellcheck disable=SC2064  # the path is known now
    trap "rm -f $guard" RETURN EXIT
    export DEBIAN_FRONTEND=noninteractive
    quietly apt-update apt-get -o DPkg::Lock::Timeout=300 update
    quietly "apt-$1" apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@"
}
