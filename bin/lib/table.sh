# shellcheck shell=bash
# settings.toml for bash, without Python: each row begins with its name, its default, its kind and its readers. And the other
# settings that something reads: those of every Compose file, and of programs that we call.

shopt -s extglob
settings=() # in the order of the table
declare -A pattern_of meaning_of default_of kind_of readers_of
read_table() {
    local line kind="^([a-z0-9_]+) = \['(.*)', '(.*)'\]" row="^([A-Z_]+) = \['([^']*)', '([a-z0-9_]+)', '([^']*)'"
    while read -r line && [ "$line" != '[internal]' ]; do
        if [[ $line =~ $kind ]]; then
            pattern_of[${BASH_REMATCH[1]}]=${BASH_REMATCH[2]} meaning_of[${BASH_REMATCH[1]}]=${BASH_REMATCH[3]}
        elif [[ $line =~ $row ]]; then
            settings+=("${BASH_REMATCH[1]}")
            default_of[${BASH_REMATCH[1]}]=${BASH_REMATCH[2]} kind_of[${BASH_REMATCH[1]}]=${BASH_REMATCH[3]}
            readers_of[${BASH_REMATCH[1]}]=${BASH_REMATCH[4]}
        fi
    done <settings.toml
}
read_table

# is_known NAME: succeeds if something reads the setting.
is_known() {
    local files
    case $1 in
    COMPOSE_@(PATH_SEPARATOR|PROFILES|PARALLEL_LIMIT|PROGRESS|ANSI|HTTP_TIMEOUT) | NO_COLOR | @(http|https|no|all)_proxy | @(HTTP|HTTPS|NO|ALL)_PROXY) return ;;
    DOCKER_@(HOST|CONTEXT|CONFIG|TLS|TLS_VERIFY|CERT_PATH|API_VERSION|BUILDKIT|DEFAULT_PLATFORM)) return ;;
    PIP_@(INDEX_URL|EXTRA_INDEX_URL|TRUSTED_HOST|CERT|PROXY|FIND_LINKS|NO_INDEX|DEFAULT_TIMEOUT)) return ;;
    esac
    IFS=: read -ra files <<<"${COMPOSE_FILE:-}" # the user's, too
    [ -n "${kind_of[$1]:-}" ] ||
        grep -qsE "\\$\{?$1\>" compose.yaml hardened.yaml compose.override.yaml extras/*/compose.yaml labs/*.yaml labs/*/compose.yaml "${files[@]}"
}

# check_values: each setting is empty, or as its kind wants it.
check_values() {
    local name value kind
    for name in "${settings[@]}"; do
        # Many a shell has a MACHINE of its own.
        if [[ $name == *MACHINE* ]] && ! chosen extras/edge/compose.yaml; then continue; fi
        value=${!name:-} kind=${kind_of[$name]}
        [[ -z $value || ($value =~ ^(${pattern_of[$kind]})$ && $value != *$'\n'*) ]] || {
            if [[ $name = *_PASSWORD ]]; then value=…; fi
            die "$name must be ${meaning_of[$kind]}, not '$value'"
        }
    done
}
