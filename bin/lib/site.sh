# shellcheck shell=bash
# Your own site (extras/site/README.md): chooses its Compose files.

# site_is_a_service: Compose gives a service a name without a dot; everything else is reached from this machine's own network.
site_is_a_service() {
    local host=${SITE#*://}
    host=${host%%:*}
    [[ $host != *.* && $host != localhost ]]
}

# site_files: the Compose files to add to extras/site/compose.yaml.
site_files() {
    local part
    site_is_a_service || echo extras/site/host.yaml
    if [ -e extras/site/services.yaml ]; then echo extras/site/services.yaml; fi # your own, ignored by git
    if [[ ,${EXTRAS:-}, == *,ring,* ]]; then echo extras/site/ring.yaml; fi
    for part in ${WITH//,/ }; do
        [ -e "extras/site/without/$part.yaml" ] || die "WITH names '$part'; what can start beside your site: upstage, policyd, locust."
    done
    for part in upstage policyd locust; do
        if [[ ,$WITH, != *,$part,* ]]; then echo "extras/site/without/$part.yaml"; fi
    done
}

# without PART: succeeds if that part does not start beside your site.
without() { chosen "extras/site/without/$1.yaml"; }

# site_answers: succeeds if something answers at SITE.
site_answers() {
    if [ "$mode" = native ]; then
        curl -q --noproxy '*' -s -o /dev/null --max-time 3 "$SITE"
    else
        container_exec site curl -s -o /dev/null --max-time 3 --unix-socket /run/proscenium/site/site.sock http://site/
    fi
}

check_site() {
    if chosen extras/site/compose.yaml; then
        [ -n "$SITE" ] || die "EXTRAS=site needs the address of your site, such as SITE=http://127.0.0.1:5000"
    elif [ -n "$SITE$WITH" ]; then
        die "SITE and WITH are for the extra site. Type: make up EXTRAS=${EXTRAS:+$EXTRAS,}site"
    fi
}

# compare_site: the application alone, behind nginx, and behind nginx and Varnish, under the same load; then why requests
# reached it (logs/reached.py). `compare_run` has Locust's options.
compare_site() {
    local report=$state/compare paths code=0
    [ -n "$SITE" ] || die "PATHS is for a site of your own: SITE says where it is (docs/your-site.md)."
    [ -f "$PATHS" ] || die "PATHS=$PATHS: there is no such file. It has a path such as /about on each line, or is an access log or a HAR file."
    require_python "make compare PATHS=$PATHS"
    paths=$(stack_paths "$PATHS")
    rm -rf "$report" && mkdir -p "$report"
    step "The application alone, behind nginx, and behind nginx and Varnish: ${LENGTH:-30} seconds each, and some seconds between"
    stack_locust "$report" "${compare_run[@]}" --topologies alone.site,nginx.site,site --paths "$paths" Pages || code=$?
    [ -e "$report/report.json" ] || exit "$code"
    STACK_MODE=$mode "${python[@]}" -m logs.reached "$report/report.json" || code=1
    say "The report: $report"
    exit "$code"
}
