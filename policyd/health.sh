#!/bin/bash
# Health check of the policy daemon: asks as Flash does; exit code 0 if the answer is a policy that
# ends with a NUL. Bash, because starting Python took most of a check's CPU time, and checks never stop.
# (`policyd check` validates every line of the policy.) The port: $1, or 3000.
[ ! -d /run/policyd ] || [ -S /run/policyd/policyd.sock ] || exit 1 # compose.yaml's
exec 3<>"/dev/tcp/127.0.0.1/${1:-3000}" || exit 1
printf '<policy-file-request/>\0' >&3
IFS='' read -r -d '' -t 3 answer <&3 && [[ $answer == *'</cross-domain-policy>'* ]]
