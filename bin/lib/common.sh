# shellcheck shell=bash
# Sourced first by every command: the project folder, the user's settings, and what all commands use, a file for each subject.
set -euo pipefail
unset CDPATH
# shellcheck disable=SC2046  # names
unset -f $(compgen -A function) # a shell can export functions, and one may have the name of a program
cd "${BASH_SOURCE[0]%/*}/../.."

. bin/lib/terminal.sh
. bin/lib/environment.sh
. nginx/scripts/check.sh
. bin/lib/table.sh
load_env
# Compose's own setting for another separator of COMPOSE_FILE.
if [ -n "${COMPOSE_PATH_SEPARATOR:-}" ]; then COMPOSE_FILE=${COMPOSE_FILE:+${COMPOSE_FILE//"$COMPOSE_PATH_SEPARATOR"/:}}; fi
export COMPOSE_PATH_SEPARATOR=:

export COMPOSE_PROJECT_NAME=${COMPOSE_PROJECT_NAME:-proscenium}
export BIND_ADDR=${BIND_ADDR:-127.0.0.1}

. bin/lib/ports.sh

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

# active_server: prints the service with the newest data, where all users are: the backend, or the mirror (extras/mirror).
active_server() { if [ -e "$mirror_is_active" ]; then echo mirror; else echo backend; fi; }

. bin/lib/theatres.sh
export APP=${APP:-} WITH=${WITH:-}
APP=${APP%/} # as copied from a browser
. bin/lib/app.sh

. bin/lib/files.sh
choose_files
. bin/lib/packages.sh

# reason_in OUTPUT: prints the line that says why a service failed: the last one with a word such as "error", else the last one.
reason_in() {
    grep -Ef bin/lib/reasons.txt <<<"$1" | tail -n 1 | grep . || tail -n 1 <<<"$1"
}

# locust_changed_since TIME: succeeds if a file that Locust reads only when it starts has changed.
locust_changed_since() {
    [ -n "$(find loadtest \( -name tests -o -name examples \) -prune -o \( -name '*.py' -o -name '*.conf' -o -name '*.toml' \) -newermt "$1" -print -quit)" ]
}

# refuse_locust: says why Locust is not restarted, and fails: it would stop, and could not start again.
refuse_locust() {
    echo "Locust goes on with its old files: the lines above say what is wrong." >&2
    return 1
}

# A command for sh with the argument ADDRESS:PORT: prints when the certificate that is served there expires.
# shellcheck disable=SC2034,SC2016  # used in either mode; the other shell expands it
certificate_end='openssl s_client -connect "$1" </dev/null 2>/dev/null | openssl x509 -noout -enddate'
