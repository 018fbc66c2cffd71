# shellcheck shell=bash
# THEATRES, the list of further UpStage instances (extras/theatres/README.md). `make up` fills a Compose file for each name into a
# folder of this stack, which is then the list that the other commands know.

. nginx/scripts/theatres.sh
theatres_set=${THEATRES+yes}
theatres=${THEATRES:-} theatres=${theatres//[,$'\n']/ }
read -ra theatres <<<"$theatres"
export THEATRES="${theatres[*]}" THEATRES_SWF_PORT=${THEATRES_SWF_PORT:-7231}
case " $THEATRES" in *@*) die "THEATRES: a theatre on another machine is a stack of its own there (extras/theatres/README.md)" ;; esac
check_theatres

theatres_folder=$state/theatres

# started_theatres: prints the list that the stack was started with, in `mode`: those with a file, unless a plain `docker compose
# up` started none of them.
started_theatres() {
    local file name services='' running=()
    if [ "$mode" = containers ]; then services=$(containers_services --all); fi
    for file in "$theatres_folder"/*.yaml; do
        name=${file##*/[0-9][0-9]-} name=${name%.yaml}
        if [ ! -e "$file" ] || [[ $name == *.* ]]; then continue; fi
        if [ -z "$services" ] || grep -qx "$name" <<<"$services"; then running+=("$name"); fi
    done
    echo "${running[*]}"
}

# write_theatres: writes the theatres' Compose files, in the order of the list, which is that of the ports. If the user has set
# COMPOSE_FILE, each must be named there.
write_theatres() {
    local number template text file
    local -A suffix_of=([theatre]="" [ring]=.ring)
    for number in "${!theatres[@]}"; do
        file=$(file_of "$number").yaml
        [[ -z $users_files || :$users_files: == *:"$file":* ]] || die "THEATRES needs the file $file: add it to COMPOSE_FILE"
    done
    rm -rf "$theatres_folder"
    for number in "${!theatres[@]}"; do
        mkdir -p "$theatres_folder"
        for template in theatre ring; do
            if [ $template = ring ] && ! chosen extras/ring/compose.yaml; then continue; fi
            text=$(<"extras/theatres/$template.yaml")
            text=${text//NAME/${theatres[number]}}
            text=${text//STAGE_PORT/$((7231 + number))}
            text=${text//PUBLISHED_PORT/$((THEATRES_SWF_PORT + number))}
            echo "$text" >"$(file_of "$number")${suffix_of[$template]}.yaml"
        done
    done
    choose_files
}
# file_of NUMBER: prints the path of a theatre's file, without its ending.
file_of() { printf '%s/%02d-%s' "$theatres_folder" $(($1 + 1)) "${theatres[$1]}"; }

# theatre_ports: prints the stage port of each, as lines of "variable number".
theatre_ports() {
    local number
    for number in "${!theatres[@]}"; do echo "THEATRES_SWF_PORT $((THEATRES_SWF_PORT + number))"; done
}
