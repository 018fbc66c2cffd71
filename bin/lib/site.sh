# shellcheck shell=bash
# A site of your own (extras/site/README.md): which of its Compose files are in use.

# site_files: those besides extras/site/compose.yaml.
site_files() {
    local host=${SITE#http://} part
    host=${host%:*}
    # Compose gives a service a name without a dot; everything else is reached from this machine's own network.
    if [[ $host == *.* || $host == localhost ]]; then echo extras/site/host.yaml; fi
    if [[ ,${EXTRAS:-}, == *,ring,* ]]; then echo extras/site/ring.yaml; fi
    for part in ${WITHOUT//,/ }; do
        [ -e "extras/site/without/$part.yaml" ] || die "WITHOUT names '$part'; what can be left out: upstage, policyd, locust."
        echo "extras/site/without/$part.yaml"
    done
}

# without PART: it has been left out.
without() { chosen "extras/site/without/$1.yaml"; }

check_site() {
    if chosen extras/site/compose.yaml; then
        [ -n "$SITE" ] || die "EXTRAS=site needs the address of your site, such as SITE=http://127.0.0.1:5000"
    elif [ -n "$SITE$WITHOUT" ]; then
        die "SITE and WITHOUT are for the extra site. Type: make up EXTRAS=${EXTRAS:+$EXTRAS,}site"
    fi
}
