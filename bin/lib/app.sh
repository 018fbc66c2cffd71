# shellcheck shell=bash
# Your own application (extras/app/README.md): chooses its Compose files.

# app_is_a_service: succeeds if APP is a service of Compose, which has a name without a dot; everything else is reached from this
# machine's own network.
app_is_a_service() {
    local host=${APP#*://}
    host=${host%%:*}
    [[ $host != *.* && $host != localhost ]]
}

# app_files: prints the Compose files to add to extras/app/compose.yaml.
app_files() {
    local part
    app_is_a_service || echo extras/app/host.yaml
    if [ -e extras/app/services.yaml ]; then echo extras/app/services.yaml; fi # your own, ignored by git
    if [[ ,${EXTRAS:-}, == *,ring,* ]]; then echo extras/app/ring.yaml; fi
    for part in ${WITH//,/ }; do
        [ -e "extras/app/without/$part.yaml" ] || die "WITH names '$part'; what can start beside your application: upstage, policyd, locust."
    done
    for part in upstage policyd locust; do
        if [[ ,$WITH, != *,$part,* ]]; then echo "extras/app/without/$part.yaml"; fi
    done
}

# without PART: succeeds if that part does not start beside your application.
without() { chosen "extras/app/without/$1.yaml"; }

# app_answers: succeeds if something answers at APP.
app_answers() {
    if [ "$mode" = native ]; then
        curl -q --noproxy '*' -s -o /dev/null --max-time 3 "$APP"
    else
        container_exec app-relay curl -s -o /dev/null --max-time 3 --unix-socket /run/proscenium/app/app.sock http://app/
    fi
}

check_app() {
    local file
    for file in extras/site/{rules.vcl,services.yaml,ca.pem}; do
        [ ! -e "$file" ] || die "$file is yours, and nothing reads it there any more. Type: mv $file extras/app/"
    done
    if chosen extras/app/compose.yaml; then
        [ -n "$APP" ] || die "EXTRAS=app needs the address of your application, such as APP=http://127.0.0.1:5000"
    elif [ -n "$APP$WITH" ]; then
        die "APP and WITH are for the extra app. Type: make up EXTRAS=${EXTRAS:+$EXTRAS,}app"
    fi
}

# compare_app: compares the application alone, behind nginx, and behind nginx and Varnish, under the same load; then says why
# requests reached it (logs/reached.py). Sets `code`.
compare_app() {
    local report=$state/compare/report.json
    [ -n "$APP" ] || die "PATHS is for an application of your own: APP says where it is (docs/your-application.md)."
    [ -f "$PATHS" ] || die "PATHS=$PATHS: there is no such file. It has a path such as /about on each line, or is an access log or a HAR file."
    require_python "make compare PATHS=$PATHS"
    step "The application alone, behind nginx, and behind nginx and Varnish: ${LENGTH:-30} seconds each, and some seconds between"
    PATHS=$(stack_paths "$PATHS")
    load_test compare
    [ ! -e "$report" ] || STACK_MODE=$mode "${python[@]}" -m logs.reached "$report" || code=1
}
