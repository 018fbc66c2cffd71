# shellcheck shell=bash
# How the stack runs: in containers, or as plain processes (native). Each way is one file with the same commands: stack_up,
# stack_down, stack_status ...

# What loadtest/run.py takes.
# shellcheck disable=SC2034  # each mode uses it
load_variables=(USERS SPAWN TIME EXAMPLE CLASSES ARRIVALS CRAWL CRAWL_ADDRESSES ROBOTS TOPOLOGIES STAGE PATHS LENGTH MINUTES
    LOADTEST_PROCESSES)

# use_mode MODE: loads the commands for this way of running the stack.
use_mode() {
    mode=$1
    # shellcheck source=/dev/null  # each is checked by itself
    case $mode in
    containers) . bin/lib/containers.sh ;;
    native)
        . native/native.sh
        native_environment
        ;;
    esac
}
use_started_mode() {
    local started
    started=$(started_mode)
    use_mode "$started"
}
# native_answers: succeeds if the stack of this name runs as plain processes.
native_answers() (use_mode native && stack_running)

# is_gone FOLDER: succeeds if there is no such folder; fails if it may be below one that this user cannot enter.
is_gone() {
    local at=$1
    while [[ $at == /* ]] && [ ! -e "$at" ]; do at=${at%/*}; done
    [ "$at" != "$1" ] && [ -x "${at:-/}" ]
}
# stack_folder: prints the checkout from which this engine's stack of our name was started: this one's, if it was here.
stack_folder() {
    local folder other=
    while read -r folder; do
        if [ "$folder" -ef . ]; then
            echo "$PWD"
            return
        fi
        is_gone "$folder" || other=$folder # else this checkout may have been moved
    done < <(docker ps -a --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME" \
        --format '{{.Label "com.docker.compose.project.working_dir"}}' 2>/dev/null || true)
    [ -z "$other" ] || echo "$other"
}
# Prints the mode of the stack: containers, native or nothing. The note may be missing, or left by a native stack that was
# stopped before: `docker compose up` in this folder writes none. A stack of another checkout is left alone.
started_mode() {
    local note='' folder
    if [ -e "$state/mode" ]; then note=$(<"$state/mode"); fi
    if [ "$note" != native ] || ! native_answers; then
        folder=$(stack_folder)
        case $folder in
        "$PWD") note=containers ;;
        ?*) die "The stack '$COMPOSE_PROJECT_NAME' belongs to the checkout $folder; this one is $PWD." \
            "Give this one a COMPOSE_PROJECT_NAME and ports of its own in .env (docs/operations.md, A second copy), or type there: make down" ;;
        esac
    fi
    [ -z "$note" ] || echo "$note"
}
# require_stack: exits with a message unless there is a stack, in `mode`.
require_stack() {
    if [ -n "$mode" ] && stack_exists; then return; fi
    require_engine
    refuse_on_kubernetes
    die "The stack '$COMPOSE_PROJECT_NAME' is not running. Type: make up"
}
# Exits with a sentence, and the line to type, if the current context of kubectl has the stack (extras/kubernetes).
refuse_on_kubernetes() {
    local there="The stack runs on Kubernetes, in the namespace proscenium" line
    { has kubectl && timeout 3 kubectl get statefulset backend -n proscenium --request-timeout=2s; } >/dev/null 2>&1 || return 0
    line=$(grep "^$asked " extras/kubernetes/commands.txt) ||
        die "$there, and this command is for one machine. Type: kubectl -n proscenium get pods"
    die "$there. Type: kubectl -n proscenium ${line#* }"
}
# require_running SERVICE...: exits with a message unless there is a stack and these services of it run.
require_running() {
    local service
    require_stack
    for service in "$@"; do
        stack_runs "$service" || die "$service is not running. Type: make up"
    done
}
# ask_stack MODULE ARGUMENT...: becomes a Python program of this checkout that asks the stack, which runs in `mode`.
ask_stack() { STACK_MODE=$mode exec "${python[@]}" -m "$@"; }
remember_mode() { mkdir -p "$state" && echo "$1" >"$state/mode"; }

# refuse_on_mirror: fails if the mirror is active; faults and lessons are about the backend.
refuse_on_mirror() { [ "$(active_server)" = backend ] || die "The mirror is active, and this command is about the backend. Type: make mirror TO=backend"; }

# active_upstage ARGUMENT...: runs `upstage` on the active server.
active_upstage() { stack_upstage "$(active_server)" "$@"; }

# purge_header [--tag TAG | --all]: prints the header of a purge (starter/varnish/purge.vcl).
purge_header() {
    case ${1:-} in
    --tag) echo "X-Cache-Tags: $2" ;;
    --all) echo "X-Purge-Method: regex" ;; # with the path /: whatever begins with it
    *) echo "X-Purge-Method: exact" ;;
    esac
}
