# shellcheck shell=bash
# THEATRES, the list of further UpStage instances (extras/theatres/README.md). Compose cannot express a list of services,
# so `make up` writes them into a Compose file of this stack, which is then the list that the other commands know.

. nginx/scripts/theatres.sh
theatres_set=${THEATRES+yes}
theatres=${THEATRES:-} theatres=${theatres//[,$'\n']/ }
read -ra theatres <<<"$theatres"
# With several machines (extras/edge), NAME@ADDRESS runs on that one, and NAME on the first.
declare -A machine_of=()
for theatre in "${theatres[@]}"; do
    [[ $theatre != *@ ]] || die "THEATRES: '$theatre' has no address behind the @."
    machine_of[${theatre%%@*}]=${FIRST_MACHINE:-}
    if [[ $theatre == *@* ]]; then machine_of[${theatre%%@*}]=${theatre#*@}; fi
done
theatres=("${theatres[@]%%@*}")
export THEATRES="${theatres[*]}" THEATRES_SWF_PORT=${THEATRES_SWF_PORT:-7231}
check_theatres

theatres_file=$state/theatres.yaml

# on_other_machine NAME: prints the machine that the theatre runs on, and succeeds, if it is not this one.
on_other_machine() {
    chosen extras/edge/compose.yaml && [ -n "${machine_of[$1]:-}" ] && [ "${machine_of[$1]}" != "$MACHINE" ] && echo "${machine_of[$1]}"
}

# The list that the stack was started with, in `mode`: the one in the file, unless a plain `docker compose up`
# started none of them.
started_theatres() {
    local list services theatre running=()
    [ "$mode" != swarm ] || return 0
    list=$(sed -n '1s/^# THEATRES="\(.*\)".*/\1/p' "$theatres_file" 2>/dev/null) || true
    if [ -n "$list" ] && [ "$mode" = containers ]; then
        services=$(containers_services --all)
        for theatre in $list; do
            if grep -qx "$theatre" <<<"$services"; then running+=("$theatre"); fi
        done
        if [ -n "$services" ]; then list=${running[*]}; fi
    fi
    echo "$list"
}

write_theatres_file() {
    mkdir -p "$state"
    if [ -n "$THEATRES" ]; then theatres_yaml >"$theatres_file"; else rm -f "$theatres_file"; fi
    choose_files
    [ -z "$THEATRES" ] || chosen "$theatres_file" || die "THEATRES needs the file $theatres_file: add it to COMPOSE_FILE"
}

theatres_yaml() {
    local last=$((${#theatres[@]} - 1)) number theatre varnish varnishes=(varnish) here=() pages='' others=''
    for theatre in "${theatres[@]}"; do on_other_machine "$theatre" >/dev/null || here+=("$theatre"); done
    if chosen extras/ring/compose.yaml; then varnishes+=(varnish-2 varnish-3); fi
    if chosen extras/edge/compose.yaml; then
        pages=", THEATRES_ADDRESS: \"$(address_of_each 18101 'unix:/run/proscenium/*/upstage.sock')\""
        others=", THEATRES_STAGE_ADDRESS: \"$(address_of_each 17231 'unix:/run/proscenium/*/upstage-stage.sock')\", THEATRES_METRICS_ADDRESS: \"$(address_of_each 19111 '*:9110')\""
    fi
    cat <<END
# THEATRES="$THEATRES": the list as services, written by \`make up\` (extras/theatres/README.md).
services:
END
    for number in "${!theatres[@]}"; do
        theatre=${theatres[number]}
        [[ " ${here[*]} " == *" $theatre "* ]] || continue
        cat <<END
  $theatre:
    extends: { file: compose.yaml, service: backend } # paths start at the project folder
    volumes: [$theatre-data:/var/lib/upstage, $theatre-media:/srv/media, $theatre-sockets:/run/upstage]
END
        [ -z "$pages" ] || cat <<END
    environment: { UPSTAGE_PURGE: "\${FIRST_MACHINE} \${OTHER_MACHINES}:18082" }
    networks: [back, edge]
    ports: ["\${MACHINE}:$((18101 + number)):8081", "\${MACHINE}:$((17231 + number)):7230", "\${MACHINE}:$((19111 + number)):9110"]
END
        echo
    done
    for varnish in "${varnishes[@]}"; do
        cat <<END
  $varnish:
    environment: { THEATRES: "$THEATRES"$pages }
    volumes: [$(for_each '*-sockets:/run/proscenium/*:ro' "${here[@]}")]

END
    done
    cat <<END
  nginx:
    environment: { THEATRES: "$THEATRES"$pages$others }
    volumes: [$(for_each '*-media:/srv/theatres/*:ro, *-sockets:/run/proscenium/*:ro' "${here[@]}")]
    ports: ["\${BIND_ADDR:-127.0.0.1}:$(ports_from "$THEATRES_SWF_PORT" $last):$(ports_from 7231 $last)"]
    networks: { load: { aliases: [$(for_each '*.localhost' "${theatres[@]}")] } }
    # In this order, so that the volumes belong to the backends, which write to them.
    depends_on: { $(for_each '*: { condition: service_started }' "${here[@]}") }

END
    is_other_machine || cat <<END
  backend:
    environment: { UPSTAGE_THEATRES: "$THEATRES" } # for the links on its front page

  locust:
    environment: { LOADTEST_THEATRES: "$THEATRES" }

END
    [ ${#here[@]} = 0 ] || echo 'volumes:'
    for theatre in "${here[@]}"; do
        cat <<END
  $theatre-data:
  $theatre-media:
  $theatre-sockets: { driver_opts: { type: tmpfs, device: tmpfs, o: "uid=1000,gid=1000,mode=0755,size=1m" } }
END
    done
}

# address_of_each PORT HERE: where nginx and Varnish reach each theatre: HERE on this machine, or at a port of its machine:
# this one for the first theatre, and the next ones for the others.
address_of_each() {
    local number machine all=''
    for number in "${!theatres[@]}"; do
        if machine=$(on_other_machine "${theatres[number]}"); then all+=" $machine:$(($1 + number))"; else all+=" $2"; fi
    done
    echo "${all# }"
}

# for_each TEXT NAME...: prints the text for each name, in place of every *, separated by commas.
for_each() {
    local all='' name
    for name in "${@:2}"; do all+=", ${1//\*/$name}"; done
    echo "${all#, }"
}

# ports_from FIRST MORE: a port, or a range.
ports_from() { if [ "$2" = 0 ]; then echo "$1"; else echo "$1-$(($1 + $2))"; fi; }

# theatre_ports: the stage port of each, as lines of "variable number".
theatre_ports() {
    local number
    for number in "${!theatres[@]}"; do echo "THEATRES_SWF_PORT $((THEATRES_SWF_PORT + number))"; done
}
