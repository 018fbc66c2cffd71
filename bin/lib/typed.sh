#!/usr/bin/env bash
# typed.sh TARGET... -- NAME...: says why a variable that was typed behind `make` is refused. A command takes those that
# bin/lib/commands.txt names, and every setting; a misspelt one would be ignored silently.
CDPATH='' cd -- "${0%/*}/../.." >/dev/null || exit
. bin/lib/environment.sh
. bin/lib/table.sh

targets=() takes=
while [ "$1" != -- ]; do
    bash bin/gone "$1" 2>/dev/null || exit 0 # the target says what to type instead
    targets+=("$1")
    takes+=" $(awk -v command="$1" '/^[a-z]/ { ours = $1 == command } ours && /^    [A-Z]/ { sub(/=.*/, ""); print $1 }' bin/lib/commands.txt)"
    shift
done
shift
for name; do
    grep -qwF -- "$name" <<<"$takes" || is_known "$name" || {
        bash bin/gone "$name" 2>&1 || exit
        takes=$(tr ' ' '\n' <<<"$takes" | sort -u | xargs)
        echo "make ${targets[*]} knows no $name; it takes ${takes:+${takes// /, } and }the settings of .env.example"
        exit
    }
done
