# Written from nginx/scripts/check.sh by `make settings`.
# shellcheck shell=sh disable=SC2154  # eval assigns value
# check MEANING PATTERN NAME=DEFAULT...: each is empty, which means its default, or one line that matches
# the extended regular expression.
newline='
'
check() {
    meaning=$1 pattern=$2
    shift 2
    for setting; do
        name=${setting%%=*} && eval "value=\${$name:-}"
        case $value in
        '') export "${setting?}" && continue ;;
        *"$newline"*) value=${value%%"$newline"*}… ;;
        *) ! printf '%s' "$value" | grep -Eqxe "$pattern" || continue ;;
        esac
        case $name in *_PASSWORD) value=… ;; esac
        die "$name must be $meaning, not '$value'"
    done
}
