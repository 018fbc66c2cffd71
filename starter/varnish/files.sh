# shellcheck shell=sh
# varnishd does not run as root, so it could not read files that only you may read. It gets a copy.
copied=/run/varnish

# write_ignored FILE: writes the subroutine that drops IGNORE_ARGUMENTS and IGNORE_COOKIES.
write_ignored() {
    case $IGNORE_ARGUMENTS$IGNORE_COOKIES in
    *[!][0-9A-Za-z_.*\ -]*)
        echo "IGNORE_ARGUMENTS and IGNORE_COOKIES are names, such as 'ref promo_*'" >&2
        return 1
        ;;
    esac
    {
        echo "sub drop_ignored {"
        arguments=$(as_pattern "$IGNORE_ARGUMENTS")
        [ ! "$arguments" ] || cat <<END
    set req.url = regsuball(req.url, "(?<=[?&])($arguments)(=[^&]*)?(&|\$)", "");
    set req.url = regsub(req.url, "[?&]\$", "");
END
        cookies=$(as_pattern "$IGNORE_COOKIES")
        [ ! "$cookies" ] || cat <<END
    if (req.http.Cookie) {
        set req.http.Cookie =
            regsuball(";" + req.http.Cookie, "; *($cookies) *=[^;]*", "");
        set req.http.Cookie = regsub(req.http.Cookie, "^[; ]+", "");
        if (req.http.Cookie == "") {
            unset req.http.Cookie;
        }
    }
END
        echo "}"
    } >"$1"
}

# as_pattern NAMES: prints one regular expression for the names, in which * is any text.
as_pattern() {
    echo "$1" | tr -s ' ' '\n' | sed -n 's/[].[]/[&]/g; s/[*]/[^=;\&]*/g; /./p' | paste -s -d '|' -
}

copy_files() {
    rm -rf "$copied"
    cp -r . "$copied"
    write_ignored "$copied/ignored.vcl" || return
    chmod -R a+rX "$copied"
}
