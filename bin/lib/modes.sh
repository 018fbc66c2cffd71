# shellcheck shell=bash
# Whether the containers can read this checkout: its folders are mounted into them, and every service there is another
# user. A umask of 077 or 027 makes a checkout that only its owner, or his group, can read.

mounted=(nginx varnish policyd loadtest labs)
make_readable="chmod -R a+rX ${mounted[*]}"

# The first folder or file of theirs that is closed to others. Other files may well be private, such as a key.
unreadable() {
    find "${mounted[@]}" \( -name '.*' -o -name __pycache__ \) -prune -o \
        \( -type d -o -name '*.conf' -o -name '*.sh' -o -name '*.vcl' -o -name '*.py' -o -name '*.toml' -o -name '*.xml' \) \
        ! -perm -004 -print | sed -n 1p
}

require_readable() {
    local closed
    closed=$(unreadable)
    [ -z "$closed" ] || die "The containers may not read '$closed'; a strict umask made it so. Type: $make_readable"
}
