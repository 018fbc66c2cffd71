# Arguments and cookies that only scripts in the browser read: the page is the same without them.

sub drop_analytics {
    if (req.url ~ "\?") {
        set req.url = regsuball(req.url,
            "(?<=[?&])(utm_[a-z]+|fbclid|gclid|dclid|msclkid|gbraid|wbraid|mc_[ce]id|_ga|_gl)" +
            "(=[^&]*)?(&|$)", "");
        set req.url = regsub(req.url, "[?&]$", "");
    }
    if (req.http.Cookie) {
        set req.http.Cookie = regsuball(";" + req.http.Cookie,
            "; *(_ga(_[A-Z0-9]+)?|_gid|_(dc_)?g(at|tm)(_[^=;]*)?|_gcl_[a-z]+|_fb[cp]|" +
            "_pk_[^=;]*|_hj[^=;]*|_cl[cs]k|__utm[a-z]+|_uet[sv]id|ajs_[^=;]*|" +
            "cookieconsent[^=;]*|has_js) *=[^;]*", "");
        set req.http.Cookie = regsub(req.http.Cookie, "^[; ]+", "");
        if (req.http.Cookie == "") {
            unset req.http.Cookie;
        }
    }
}
