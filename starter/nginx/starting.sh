# shellcheck shell=sh
# Functions of a start that have nothing to do with the certificate. Read by start.sh.

die() {
    echo "$*" >&2
    exit 1
}

# one_nginx FILE: ends a second start, such as that of `docker compose run nginx`, which would
# replace files and sockets of the first. The lock is nginx's standard input: the kernel keeps it
# until nginx has ended, even by a SIGKILL.
one_nginx() {
    exec <>"$1"
    flock -w 2 0 || die "Another nginx of this stack is running: it holds $1." \
        "This one has changed nothing, and ends."
}

# name_servers FILE: prints the name servers of a resolv.conf, as nginx's `resolver` wants them: an
# IPv6 address in brackets and without a zone (fe80::1%eth0).
name_servers() {
    awk '$1 == "nameserver" && $2 !~ /%/ { print $2 ~ /:/ ? "[" $2 "]" : $2 }' "$1" 2>/dev/null |
        paste -s -d ' ' -
}

# more_files: sets the limit of open files, because each connection is one, to 20,000 or to what the
# engine allows. (If that is less than worker_rlimit_nofile, nginx logs it, and keeps this limit.)
more_files() {
    # shellcheck disable=SC3045  # dash has these options
    ulimit -Sn 20000 2>/dev/null || ulimit -Sn "$(ulimit -Hn)"
}

# ipv6_too LISTENER: succeeds if the listener is a port alone and the kernel has IPv6.
ipv6_too() {
    case $1 in *:*) return 1 ;; esac
    [ -e /proc/net/if_inet6 ]
}

# listen LISTENER [PARAMETERS]: prints a directive for IPv4, and one for IPv6.
listen() {
    # shellcheck disable=SC2086  # several, or none
    set -- "$1" ${2:-}
    echo "listen $*;"
    ! ipv6_too "$1" || echo "listen [::]:$*;"
}

# trust PROXIES PROTOCOL: sets nginx's directives for the proxies whose statements about a client
# are believed. With the PROXY protocol (on) they state its address alone: a header
# X-Forwarded-Proto would be the client's own.
trust() {
    TRUSTED=$(each "$1" 'set_real_ip_from %s;')
    case $2 in
    on) REAL_IP_HEADER=proxy_protocol PROXIED=proxy_protocol PROXIES='' ;;
    off) REAL_IP_HEADER=X-Forwarded-For PROXIED='' PROXIES=$(each "$1" '%s yes;') ;;
    *) die "PROXY_PROTOCOL must be on or off, not '$2'" ;;
    esac
    export TRUSTED REAL_IP_HEADER PROXIED PROXIES
}

# each WORDS FORMAT: prints a line in this format for each word.
each() {
    # shellcheck disable=SC2059,SC2086  # the format is one; several words
    [ ! "$1" ] || printf "$2\n" $1
}

# write_headers SOURCE FOLDER APP_HEADERS: turns SOURCE/headers.txt into FOLDER/claims.conf (lines
# with `proxy_set_header`), FOLDER/headers.conf (for `http`) and FOLDER/headers.json (headers.js).
write_headers() {
    case $3 in
    *[!0-9A-Za-z\ -]*)
        die "APP_HEADERS has names of request headers, such as 'X-Theme X-Shop', not '$3'"
        ;;
    esac
    awk -v source="$1" -v folder="$2" -v app_headers="$3" '
        function list(name, kind) { # the first one counts
            if (name in kinds) {
                return
            }
            kinds[name] = kind
            listed = listed (listed ? "," : "") "\n  \"" name "\": \"" kind "\""
            if (kind == "key") {
                gsub("-", "_", name)
                values = values "$http_" name
            }
        }
        BEGIN {
            claims = folder "/claims.conf"
            printf "" >claims
            count = split(tolower(app_headers), more)
            for (i = 1; i <= count; i++) {
                list(more[i], "key")
            }
        }
        $1 == "written" {
            list(tolower($2), $1)
            sub(/^written +/, "")
            print "proxy_set_header " $0 ";" >claims
        }
        $1 ~ /^(sent|key|dropped)$/ {
            for (i = 2; i <= NF; i++) {
                name = tolower($i)
                list(name, $1)
                if (kinds[name] == "dropped") {
                    print "proxy_set_header " $i " \"\";" >claims
                }
            }
        }
        END {
            print "js_import headers from " source "/headers.js;"
            print "{" listed "\n}" >folder "/headers.json"
            print "js_preload_object listed from " folder "/headers.json;"
            print "js_set $unusual_header headers.unusual;"
            print "js_set $hash_of_headers headers.variant;"
            print "map \"" values "\" $variant {\n    \"\" \"\";\n    default $hash_of_headers;\n}"
        }' "$1/headers.txt" >"$2/headers.conf"
}
