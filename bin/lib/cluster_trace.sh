# shellcheck shell=bash disable=SC2154
# One request to a node, followed by its id through the logs of all nodes. Sourced by bin/cluster.

[[ ${URL:-} =~ ^(http://([^/:]+)(:[0-9]+)?)?(/[^[:space:]]*)$ ]] ||
    die "Say which request: make cluster-trace URL=/media/fox.svg, and NODE=node-2 to ask another node than this one"
host=${BASH_REMATCH[2]:-localhost} path=${BASH_REMATCH[4]}
node=${NODE:-$(docker info -f '{{.Name}}')}
address=$(docker node inspect -f '{{.Status.Addr}}' "$node" 2>/dev/null) || die "There is no node '$node' (docker node ls)."

exec 3<>"/dev/tcp/$address/$HTTP_PORT"
printf 'GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: make cluster-trace\r\nConnection: close\r\n\r\n' "$path" "$host" >&3
answer=$(tr -d '\0\r' <&3 | sed '/^$/,$d')
say "${bold}GET http://$host:$HTTP_PORT$path${off}, from $node"
say "  ${answer%%$'\n'*}"
grep -iE '^(Cache-Status|Server-Timing|Age):' <<<"$answer" | sed 's/^/  /'
id=$(sed -n 's/^X-Request-Id: //Ip' <<<"$answer")
[ -n "$id" ] || exit 0
sleep 2 # nginx writes its log once a second

for service in nginx varnish backend $THEATRES; do
    # An engine that is away would let the command wait for ever.
    timeout 15 docker service logs --since 30s --no-trunc "${stack}_$service" 2>/dev/null | grep -F "$id" |
        sed -E "s/^${stack}_([^.]*)\.([^.@]*)[^@]*@([^ |]*) *\| /\n$bold\1\t\3$off\n  /; s/\t/ on /" || true
done
