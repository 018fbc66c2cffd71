# shellcheck shell=bash
# The settings that something reads: those of .env.example and of every Compose file, and those of programs that we call.

# is_known NAME: succeeds if the setting is one of them.
is_known() {
    local files
    case $1 in COMPOSE_* | DOCKER_* | PIP_* | NO_COLOR | *_PROXY | *_proxy) return ;; esac
    if [ -z "${known:-}" ]; then
        IFS=: read -ra files <<<"${COMPOSE_FILE:-}" # the user's, too
        known=" $({
            sed -n 's/^#\{0,1\}\([A-Z_]*\)=.*/\1/p' .env.example
            grep -ohsE '\$\{?[A-Za-z_][A-Za-z0-9_]*' compose.yaml compose.override.yaml extras/*/compose.yaml labs/*.yaml labs/*/compose.yaml "${files[@]}"
        } | tr -d '${' | tr '\n' ' ')"
    fi
    [[ $known == *" $1 "* ]]
}
