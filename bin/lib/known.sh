# shellcheck shell=bash
# The settings that something reads: those of .env.example and of every Compose file, and those of programs that we call.

shopt -s extglob
# is_known NAME: succeeds if the setting is one of them.
is_known() {
    local files
    case $1 in
    COMPOSE_@(PATH_SEPARATOR|PROFILES|PARALLEL_LIMIT|PROGRESS|ANSI|HTTP_TIMEOUT) | NO_COLOR | @(http|https|no|all)_proxy | @(HTTP|HTTPS|NO|ALL)_PROXY) return ;;
    DOCKER_@(HOST|CONTEXT|CONFIG|TLS|TLS_VERIFY|CERT_PATH|API_VERSION|BUILDKIT|DEFAULT_PLATFORM)) return ;;
    PIP_@(INDEX_URL|EXTRA_INDEX_URL|TRUSTED_HOST|CERT|PROXY|FIND_LINKS|NO_INDEX|DEFAULT_TIMEOUT)) return ;;
    esac
    if [ -z "${known:-}" ]; then
        IFS=: read -ra files <<<"${COMPOSE_FILE:-}" # the user's, too
        known=" $({
            sed -n 's/^#\{0,1\}\([A-Z_]*\)=.*/\1/p' .env.example
            grep -ohsE '\$\{?[A-Za-z_][A-Za-z0-9_]*' compose.yaml compose.override.yaml extras/*/compose.yaml labs/*.yaml labs/*/compose.yaml "${files[@]}"
        } | tr -d '${' | tr '\n' ' ')"
    fi
    [[ $known == *" $1 "* ]]
}
