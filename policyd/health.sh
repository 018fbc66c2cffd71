#!/bin/bash
# Health check of the policy daemon: asks as Flash does; exit code 0 if the answer is a policy that ends with a NUL.
# It is written in Bash, because starting Python was most of a check's CPU time, and checks never stop. (`policyd check`
# validates every line of the policy.) $1: the port of the only listener; without it, there are compose.yaml's two.
#
# Bash cannot connect to a Unix socket, so this reads the kernel's list of them, where 00010000 means "listening". (A container
# of an older version may have no such folder.)
unix=/run/policyd/policyd.sock
[ "${1:-}" ] || [ ! -d ${unix%/*} ] || { [ -S $unix ] && grep -q " 00010000 .* $unix\$" /proc/net/unix; } || exit 1
exec 3<>"/dev/tcp/127.0.0.1/${1:-3000}" || exit 1
printf '<policy-file-request/>\0' >&3
IFS='' read -r -d '' -t 3 answer <&3 && [[ $answer == *'</cross-domain-policy>'* ]]
