# shellcheck shell=bash
# The ports of this machine.

for port in "${ports[@]}"; do
    name=${port%%=*} && export "$name=${!name:-${port#*=}}"
done

# port_taken PORT [ADDRESS]: prints the address on which a program answers at that port: BIND_ADDR, or the one that
# browsers try first for localhost. Fails if none does.
port_taken() {
    local address addresses=("${2:-$BIND_ADDR}")
    case ${addresses[0]} in 127.* | 0.0.0.0 | *'[::]'* | ::) addresses+=('[::1]') ;; esac
    for address in "${addresses[@]}"; do
        if (exec 3<>"/dev/tcp/$(tr -d '[]' <<<"$address")/$1") 2>/dev/null; then
            echo "$address"
            return
        fi
    done
    return 1
}

# Prints the ports of the Compose files in use and of the theatres, as lines of "variable number"; a range becomes a line
# for each port.
published_ports() {
    local name port of
    for name in "${ports[@]%%=*}"; do
        of=${published_by[$name]:-}
        if [ -n "$of" ] && ! chosen "$of"; then continue; fi
        for ((port = ${!name%-*}; port <= ${!name#*-}; port++)); do echo "$name $port"; done
    done
    theatre_ports
}

# other_ports VARIABLE: prints the setting to type if one of its ports is taken: a thousand higher.
other_ports() {
    local now=${!1}
    if [[ $now == *-* ]]; then echo "$1=$((${now%-*} + 1000))-$((${now#*-} + 1000))"; else echo "$1=$((now + 1000))"; fi
}
