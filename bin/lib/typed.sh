#!/usr/bin/env bash
# typed.sh TARGET... -- NAME...: says why a variable that was typed behind `make` is refused. A command takes those that its line
# in the Makefile names, and every setting; a misspelt one would be ignored silently.
CDPATH='' cd -- "${0%/*}/../.." >/dev/null || exit
. bin/lib/table.sh

targets=() lines=
while [ "$1" != -- ]; do
    bash bin/gone "$1" 2>/dev/null || exit 0 # the target says what to type instead
    targets+=("$1")
    while read -r line; do [[ $line != "$1:"*'## '* ]] || lines+=" ${line#*## }"; done <Makefile
    shift
done
shift
for name; do
    [[ $lines =~ (^|[^A-Z_])$name= ]] || is_known "$name" || {
        bash bin/gone "$name" 2>&1 || exit
        takes=$(grep -oE '\<[A-Z_]+=' <<<"$lines" | sort -u | tr -d = | xargs)
        echo "make ${targets[*]} knows no $name; it takes ${takes:+${takes// /, } and }the settings of .env.example"
        exit
    }
done
