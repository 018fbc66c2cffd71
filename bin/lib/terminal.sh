# shellcheck shell=bash
# What the user sees: lines, steps, the end of a command.

# Colours on a terminal only, and not where the user wants none (https://no-color.org).
if [ -t 1 ] && [ -t 2 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' off=$'\e[0m'; else bold='' dim='' red='' off=''; fi
say() { printf '%s\n' "$*"; }
step() { printf '%s==> %s%s %s(%d s)%s\n' "$bold" "$*" "$off" "$dim" "$SECONDS" "$off"; }
die() {
    printf '%s%s%s\n' "$red" "$*" "$off" >&2
    exit "${die_status:-1}"
}

# interrupted SENTENCE: says after Ctrl-C what is there now, or what to type, and exits; for `trap`. (The program that ran has got
# the signal, too.)
interrupted() {
    trap '' INT TERM
    die_status=130 die "Interrupted. $*"
}

# quietly NAME COMMAND...: sends the command's output to a log file; shows the end of it, and $hint, if the command fails. (A
# function of ours would tell the user nothing: the command that was typed stands for it.)
quietly() {
    local log=".run/logs/$1.log" failed="${*:2}"
    if [ "$(type -t "$2")" = function ]; then failed="make $asked"; fi
    shift
    mkdir -p .run/logs
    if ! ("$@") >"$log" 2>&1 </dev/null; then # in a shell of its own: what a trap of ours says is not for the log
        tail -n 30 "$log" >&2
        die "Failed: $failed (full output: $log)${hint:+$'\n'$hint}"
    fi
}
