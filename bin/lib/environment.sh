# shellcheck shell=bash
# shellcheck disable=SC2154 # table.sh has the settings
# What reaches our programs from outside: the user's shell, and .env. Sourced by common.sh.

shopt -s extglob

# Settings of other programs that a shell may export, and that would change what ours do. A name server, an index of packages and a
# proxy stay, because downloads need them.
unset ENV GREP_OPTIONS TAR_OPTIONS GZIP
for name in "${!PYTHON@}" "${!GIT_@}"; do [ "$name" = PYTHON_IMAGE ] || unset "$name"; done # a git hook exports some
unset PIP_TARGET PIP_PREFIX PIP_ROOT PIP_CONSTRAINT PIP_NO_DEPS
unset COMPOSE_ENV_FILES COMPOSE_DISABLE_ENV_FILE # of the settings, only .env is read
unset COMPOSE_IGNORE_ORPHANS COMPOSE_REMOVE_ORPHANS COMPOSE_COMPATIBILITY COMPOSE_DRY_RUN BUILDX_BUILDER DOCKER_CONTENT_TRUST
unset MAKELEVEL MAKEFLAGS MFLAGS # a make that one of our programs calls takes no variable of this one
# Messages that we read, sorted lists and upper case as in English; text in UTF-8.
unset LANGUAGE
export LC_ALL=C.UTF-8
export PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0 PIP_DISABLE_PIP_VERSION_CHECK=1 # also if pip.conf says otherwise
# git's own defaults, and a checkout of another user (sudo make) is one of ours.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=$PWD

# Before a command that asks the stack, which no proxy could reach; and one that is a Python program of this checkout.
unproxied=(env 'no_proxy=*' 'NO_PROXY=*')
# shellcheck disable=SC2034  # used by the scripts
python=("${unproxied[@]}" PYTHONDONTWRITEBYTECODE=1 python3)

# Reads .env as Compose does; the environment takes precedence. Lines of which every reader thinks the same need no Compose, which
# may not be installed yet; a file with any other line is read by Compose.
load_env() {
    local line name value number=0 odd='' key='^[[:space:]]*(export[[:space:]]+)?([A-Za-z_][A-Za-z0-9_]*)[[:space:]]*[=:][[:space:]]*(.*)$'
    local word='[][A-Za-z0-9_./:,;@%+=~!?*&()<>{}|^-]+'
    local -A read=()
    in_env_file=()
    [ -f .env ] || return 0
    [ -r .env ] || die "$(id -un) may not read .env. Type: sudo chown $(id -un) .env"
    while IFS= read -r line || [ -n "$line" ]; do
        number=$((number + 1)) line=${line%$'\r'} # edited on Windows
        [[ ! $line =~ ^[[:space:]]*(#.*)?$ ]] || continue
        if [[ $line =~ ^([A-Za-z_][A-Za-z0-9_]*)=($word( $word)*)?$ || $line =~ ^([A-Za-z_][A-Za-z0-9_]*)=\"([^\"\\\$\`]*)\"$ ||
            $line =~ ^([A-Za-z_][A-Za-z0-9_]*)=\'([^\'\\]*)\'$ ]]; then
            read[${BASH_REMATCH[1]}]=${BASH_REMATCH[2]}
            continue
        fi
        odd=${odd:-$number}
        [[ ${line#$'\xef\xbb\xbf'} =~ $key ]] || continue # Compose says what is wrong with it
        name=${BASH_REMATCH[2]} value=${BASH_REMATCH[3]}
        case $value in
        \"*) [[ $value =~ ^\"([^\"\\]|\\[^nr])*\" ]] ;;
        \'*) [[ $value =~ ^\'(.*[^\\])?\' ]] ;;
        esac || die ".env, line $number: the value of $name has several lines. Write it in one, without \\n."
        read[$name]=
    done <.env
    if [ "$odd" ]; then
        compose_answers || die ".env, line $odd: only Compose can read it, and it is not installed: write NAME=value or NAME='value'."
        # A file whose images are "NAME=value": Compose prints them as they are.
        value=$({
            printf 'name: env\nservices:\n  s0: { image: x }\n'
            number=0
            for name in "${!read[@]}"; do echo "  s$((number += 1)): { image: \"\${$name+$name=\$$name}\" }"; done
        } | docker compose -f - config --images 2>&1) || die ".env: $(tail -n 1 <<<"$value")"
        for name in "${!read[@]}"; do
            line=$(grep "^$name=" <<<"$value") || line=
            if [ -n "$line" ]; then read[$name]=${line#*=}; else unset "read[$name]"; fi
        done
    fi
    in_env_file=("${!read[@]}")
    for name in "${in_env_file[@]}"; do
        [ -n "${!name+set}" ] || export "$name=${read[$name]}"
    done
}

# is_known NAME: succeeds if something reads the setting: one of settings.toml, of a program that we call, of a lab, or of a Compose
# file of the user's, whose variables only Compose knows: without an answer of it the name counts as known.
is_known() {
    local found
    case $1 in
    COMPOSE_@(PATH_SEPARATOR|PROFILES|PARALLEL_LIMIT|PROGRESS|ANSI|HTTP_TIMEOUT) | NO_COLOR | @(http|https|no|all)_proxy | @(HTTP|HTTPS|NO|ALL)_PROXY) return ;;
    DOCKER_@(HOST|CONTEXT|CONFIG|TLS|TLS_VERIFY|CERT_PATH|API_VERSION|BUILDKIT|DEFAULT_PLATFORM)) return ;;
    PIP_@(INDEX_URL|EXTRA_INDEX_URL|TRUSTED_HOST|CERT|PROXY|FIND_LINKS|NO_INDEX|DEFAULT_TIMEOUT)) return ;;
    LAB_@(LOCUST|SERVER)_CPUS | OPENDATA_@(NETWORK|RECORDS)) return ;;
    esac
    [[ " ${settings[*]} " != *" $1 "* ]] || return 0
    [ -e compose.override.yaml ] || [ -e extras/app/services.yaml ] || [ "${COMPOSE_FILE:-compose.yaml}" != compose.yaml ] || return
    found=$(docker compose config --variables 2>/dev/null) || return 0
    grep -q "^$1 " <<<"$found"
}

compose_answers() { compose_version=$(docker compose version --short 2>/dev/null); }
