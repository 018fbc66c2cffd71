# shellcheck shell=bash
# Your own sites (extras/site/README.md): chooses their Compose files.

# site_hosts: the host of each application. Compose gives a service a name without a dot.
site_hosts() { printf '%s\n' "${sites[@]}" | sed -E 's|.*://([^:/]*).*|\1|'; }
no_service='[.]|^localhost$'

# site_files: the Compose files to add to extras/site/compose.yaml.
site_files() {
    local part
    # From this machine's own network everything is reached but a service.
    if ! site_hosts | grep -qvE "$no_service"; then echo extras/site/host.yaml; fi
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

# site_answers NAME=URL: succeeds if something answers there.
site_answers() {
    if [ "$mode" = native ]; then
        curl -q --noproxy '*' -s -o /dev/null --max-time 3 "${1#*=}"
    else
        container_exec site curl -s -o /dev/null --max-time 3 --unix-socket "/run/proscenium/site/${1%%=*}.sock" http://site/
    fi
}

check_site() {
    local service machine
    if chosen extras/site/compose.yaml; then
        [ ${#sites[@]} != 0 ] || die "EXTRAS=site needs the address of your site, such as SITE=http://127.0.0.1:5000"
        # A relay is in one network.
        service=$(site_hosts | grep -m 1 -vE "$no_service") || return 0
        machine=$(site_hosts | grep -m 1 -E '^(localhost$|127[.])') || return 0
        die "SITE and SITES: the relay reaches either the service $service or $machine, which is this machine." \
            "Publish a port of $service on 127.0.0.1, and write that"
    elif [ -n "$SITE$SITES$WITH" ]; then
        die "SITE, SITES and WITH are for the extra site. Type: make up EXTRAS=${EXTRAS:+$EXTRAS,}site"
    fi
}

# compare_site: the application alone, behind nginx, and behind nginx and Varnish, under the same load; then the answer
# (extras/site/answer.py). `compare_run` has Locust's options.
compare_site() {
    local report=$state/compare paths measuring code=0
    [ ${#sites[@]} != 0 ] || die "PATHS is for a site of your own: SITE says where it is (docs/your-site.md)."
    [ -f "$PATHS" ] || die "PATHS=$PATHS: there is no such file. It has a path such as /about on each line, or is an access log or a HAR file."
    require_python "make compare PATHS=$PATHS"
    paths=$("${mode}_paths" "$PATHS")
    rm -rf "$report" && mkdir -p "$report"
    step "The application alone, behind nginx, and behind nginx and Varnish: ${LENGTH:-30} seconds each, and some seconds between"
    "${python[@]}" extras/site/cpu.py "${sites[0]#*=}" >"$report/cpu" &
    measuring=$!
    "${mode}_locust" "$report" "${compare_run[@]}" --topologies alone.site,nginx.site,site --paths "$paths" Pages || code=$?
    kill $measuring 2>/dev/null || true
    [ -e "$report/report.json" ] || exit "$code"
    STACK_MODE=$mode "${python[@]}" -m extras.site.answer "$report" "${sites[0]%%=*}"
    say "The report: $report"
}
