# shellcheck shell=bash
# Several machines (extras/edge): what `make up` checks and says on each.

# check_machines: refuses settings that cannot apply to all machines.
check_machines() {
    local extra name
    chosen extras/edge/compose.yaml || return 0
    [ -z "$THEATRES" ] || die "THEATRES are for one machine: with EXTRAS=edge, a second UpStage is a stack of its own."
    for name in FIRST_MACHINE OTHER_MACHINES MACHINE; do
        [ -n "${!name:-}" ] || die "EXTRAS=edge needs $name in .env (extras/edge/README.md)."
    done
    [[ " $FIRST_MACHINE $OTHER_MACHINES " == *" $MACHINE "* ]] || die "MACHINE must be one of FIRST_MACHINE and OTHER_MACHINES, not '$MACHINE'"
    check_local MACHINE
    for extra in ${EXTRAS//,/ }; do
        case $extra in
        edge) ;;
        direct | inspect | webcam | workers) ! is_other_machine || die "The extra $extra is for the first machine, $FIRST_MACHINE." ;;
        *) die "The extra $extra is for one machine: it does not go with edge." ;;
        esac
    done
}

# machine_ports: prints the ports that are published on MACHINE for the other machines.
machine_ports() {
    chosen extras/edge/compose.yaml || return 0
    echo 18080 18082 18083
    if ! is_other_machine; then echo 18081 17230; fi
}

# name_machines: says which machines this one knows, and which of them do not answer or know others. The order of the others does
# not matter, only which machine is the first.
name_machines() {
    local address list ours="$FIRST_MACHINE $OTHER_MACHINES"
    say "    machines             $ours    this one: $MACHINE"
    for address in $ours; do
        [ "$address" != "$MACHINE" ] || continue
        # shellcheck disable=SC2016  # the other shell expands it
        list=$(timeout 2 bash -c 'cat <"/dev/tcp/$0/18083"' "$address" 2>/dev/null) || list=
        if [ -z "$list" ]; then
            say "    $address does not answer yet. Type there: make up"
        elif [ "${list%% *} $(in_order "$list")" != "$FIRST_MACHINE $(in_order "$ours")" ]; then
            say "    $address knows other machines: $list. The same FIRST_MACHINE and OTHER_MACHINES must be in every .env; then type there: make up"
        fi
    done
}
in_order() { tr ' ' '\n' <<<"$1" | sort | xargs; }
