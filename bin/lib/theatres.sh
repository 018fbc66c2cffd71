# shellcheck shell=bash
# THEATRES, the list of further UpStage instances (extras/theatres/README.md). Compose cannot express a list of services,
# so `make up` writes them into a Compose file of this stack, which is then the list that the other commands know.

. nginx/scripts/theatres.sh
theatres_set=${THEATRES+yes}
theatres=${THEATRES:-} theatres=${theatres//[,$'\n']/ }
read -ra theatres <<<"$theatres"
export THEATRES="${theatres[*]}" THEATRES_SWF_PORT=${THEATRES_SWF_PORT:-7231}
check_theatres

theatres_file=$state/theatres.yaml

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
    local last=$((${#theatres[@]} - 1)) theatre varnish varnishes=(varnish)
    if chosen extras/ring/compose.yaml; then varnishes+=(varnish-2 varnish-3); fi
    cat <<END
# THEATRES="$THEATRES": the list as services, written by \`make up\` (extras/theatres/README.md).
services:
END
    for theatre in "${theatres[@]}"; do
        cat <<END
  $theatre:
    extends: { file: compose.yaml, service: backend } # paths start at the project folder
    volumes: [$theatre-data:/var/lib/upstage, $theatre-media:/srv/media, $theatre-sockets:/run/upstage]

END
    done
    for varnish in "${varnishes[@]}"; do
        cat <<END
  $varnish:
    environment: { THEATRES: "$THEATRES" }
    volumes: [$(for_each '*-sockets:/run/proscenium/*:ro')]

END
    done
    cat <<END
  nginx:
    environment: { THEATRES: "$THEATRES" }
    volumes: [$(for_each '*-media:/srv/theatres/*:ro, *-sockets:/run/proscenium/*:ro')]
    ports: ["\${BIND_ADDR:-127.0.0.1}:$(ports_from "$THEATRES_SWF_PORT" $last):$(ports_from 7231 $last)"]
    networks: { load: { aliases: [$(for_each '*.localhost')] } }
    # In this order, so that the volumes belong to the backends, which write to them.
    depends_on: { $(for_each '*: { condition: service_started }') }

  backend:
    environment: { UPSTAGE_THEATRES: "$THEATRES" } # for the links on its front page

  locust:
    environment: { LOADTEST_THEATRES: "$THEATRES" }

volumes:
END
    for theatre in "${theatres[@]}"; do
        cat <<END
  $theatre-data:
  $theatre-media:
  $theatre-sockets: { driver_opts: { type: tmpfs, device: tmpfs, o: "uid=1000,gid=1000,mode=0755,size=1m" } }
END
    done
}

# for_each TEXT: prints the text for each theatre, with its name in place of every *, separated by commas.
for_each() {
    local all='' theatre
    for theatre in "${theatres[@]}"; do all+=", ${1//\*/$theatre}"; done
    echo "${all#, }"
}

# ports_from FIRST MORE: a port, or a range.
ports_from() { if [ "$2" = 0 ]; then echo "$1"; else echo "$1-$(($1 + $2))"; fi; }

# theatre_ports: the stage port of each, as lines of "variable number".
theatre_ports() {
    local number
    for number in "${!theatres[@]}"; do echo "THEATRES_SWF_PORT $((THEATRES_SWF_PORT + number))"; done
}
