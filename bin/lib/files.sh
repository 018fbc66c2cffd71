# shellcheck shell=bash
# Which Compose files make up the stack.

override=compose.override.yaml
# override_is_ours: succeeds if the file is as `make up` has written it, which has kept a copy (offline/images.sh). An earlier
# version kept none, and wrote it from the same file, below a line of its own; one before that made a link.
override_is_ours() {
    cmp -s $override .run/$override || [ "$(readlink $override)" = offline/compose.yaml ] ||
        { [ ! -e .run/$override ] && tail -n +2 $override 2>/dev/null | cmp -s - offline/compose.yaml; }
}

# EXTRAS chooses Compose files, unless the user has set COMPOSE_FILE. The user's override comes last, so it wins. Ours is left
# out: only plain Compose commands need it, because `make` exports the image names.
users_files=${COMPOSE_FILE:-}
choose_files() {
    COMPOSE_FILE=$users_files
    if [ -z "$users_files" ]; then choose_extras; else choose_mirror; fi
    export COMPOSE_FILE
}
# choose_mirror: adds the mirror's Compose files if the mirror is active: it runs whatever EXTRAS says.
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
