# shellcheck shell=sh disable=SC2153  # settings.sh and the user set THEATRES and SERVER_NAMES
# Functions for THEATRES, the list of further UpStage instances. Sourced by settings.sh, and by bin/lib/common.sh, so
# that `make up` and nginx accept the same names.

# check_theatres: checks the names: each becomes part of a host name, a service, volumes and the paths of sockets.
check_theatres() (
    set -f # a * must not expand to file names
    seen=' ' count=0
    for name in $THEATRES; do
        case $name in
        *[!a-z0-9-]* | [!a-z]* | *-) die "THEATRES: a name has lower-case letters, digits and hyphens and begins with a letter, not '$name'" ;;
        ?????????????????????*) die "THEATRES: a name has at most 20 characters, not '$name'" ;;
        *-stage | *-direct) die "THEATRES: '$name' ends like the path of another socket, in -stage or -direct" ;;
        esac
        # Names of sites and services, and words that YAML would not read as text.
        case " upstage localhost default direct app www ${comparison_sites:-} \
            app-relay varnish varnish-2 varnish-3 nginx backend policyd locust locust-worker mirror webcam camera inspect \
            observe exporter varnishstat prometheus relay true false yes no on off null " in
        *" $name "*) die "THEATRES: the name '$name' is reserved; choose another one" ;;
        esac
        case $seen in *" $name "*) die "THEATRES has '$name' twice" ;; esac
        seen="$seen$name " count=$((count + 1))
    done
    [ $count -le 16 ] || die "THEATRES has $count names; at most 16 are possible"
    # Varnish chooses a theatre by the beginning of the Host name; with a wildcard nginx might have chosen another site.
    case "$count ${SERVER_NAMES:-}" in
    0*) ;;
    *" ."* | *" *"*) die "THEATRES needs every host name by itself: SERVER_NAMES has a wildcard" ;;
    esac
)

# theatre_names NAME: prints its host names: NAME.localhost and those in SERVER_NAMES that begin with NAME.
theatre_names() (
    set -f
    for server_name in "$1.localhost" $(echo "$SERVER_NAMES" | tr '[:upper:]' '[:lower:]'); do
        case $server_name in "$1" | "$1".*) echo "$server_name" ;; esac
    done | sort -u
)

# other_names: prints SERVER_NAMES without the names of theatres.
other_names() (
    set -f
    for server_name in $(echo "$SERVER_NAMES" | tr '[:upper:]' '[:lower:]'); do
        case " $THEATRES " in *" ${server_name%%.*} "*) ;; *) echo "$server_name" ;; esac
    done
)
