# shellcheck shell=bash
# require_writable: exits with a message unless this folder is writable: `make up` keeps what it chose beside the checkout's files
# (.run, .venv, compose.override.yaml).
require_writable() {
    [ -w . ] || die "make up writes into this folder, and may not: it is read-only, or another user's. Type: cp -r . ~/proscenium"
}

# Checks that the containers can read this checkout: its folders are mounted into them, and each service runs as another
# user. After a checkout with umask 077 or 027 only its owner, or the owner's group, can read it.

mounted=(health.sh nginx varnish policyd loadtest labs lessons docs extras starter)
make_readable="chmod -R a+rX ${mounted[*]}"

# unreadable: prints the first folder or configuration file that other users cannot read. Other files, such as a key, may be
# private.
unreadable() {
    find "${mounted[@]}" \( -name '.*' -o -name __pycache__ \) -prune -o \
        \( -type d -o -name '*.conf' -o -name '*.template' -o -name '*.sh' -o -name '*.vcl' -o -name '*.py' -o -name '*.toml' -o -name '*.xml' -o -name '*.md' -o -name '*.html' -o -name '*.svg' \) \
        ! -perm -004 -print | sed -n 1p
}

require_readable() {
    local closed
    closed=$(unreadable)
    [ -z "$closed" ] || die "The containers cannot read '$closed': the checkout was made with a strict umask. Type: $make_readable"
}
