# What Varnish keeps: what the headers of your application allow (Cache-Control: max-age=60), and static files; nothing that is
# for one person. A subroutine that stands here twice runs twice, from top to bottom. Then Varnish's own of the same name runs,
# which passes requests with a password or a cookie: https://varnish-cache.org/docs/trunk/users-guide/vcl-built-in-code.html
vcl 4.1;
import std;

# The second server in ../nginx/nginx.conf, which follows your application to a new address. (Varnish looks a name up only once.)
backend app {
    .path = "/run/web/app.sock";
    .first_byte_timeout = 65s; .between_bytes_timeout = 65s; # nginx gives up after 60
    .max_connections = 200; # more at once would only wait inside the application
}

include "./analytics.vcl";
include "./rules.vcl"; # your own rules, which run before those below

# A new rule works at once: loading it drops the marks "not kept" (below) that the old rules have left.
sub vcl_init { if (!std.ban("obj.http.X-Not-Kept == yes")) { return (fail("ban")); } }

# Purging, on listeners of its own: one in the network `purge`, and one for nginx, which wants the token.
#     PURGE /about                                this page, with any query; PURGE /about?id=1: with this query alone
#     PURGE /blog/.*   X-Purge-Method: regex      all pages whose address matches
#     PURGE /          X-Cache-Tags: news, blog   all responses with one of these words in X-Cache-Tags (Surrogate-Key, xkey)
sub vcl_recv {
    if (local.socket ~ "^purge") {
        if (req.method == "GET" && req.url == "/health") { return (synth(200)); }
        # The machine itself has the first address of the network, and its users need the token, too.
        if (req.method !~ "^(PURGE|BAN)$" || (local.socket == "purge_network" && "" + client.ip ~ "\.1$")) { return (synth(405)); }
        set req.http.X-Ban = "obj.http.X-Path == " + req.url;
        if (req.url ~ "\?") { set req.http.X-Ban = "obj.http.X-Url == " + req.url; }
        if (req.http.X-Purge-Method == "regex") { set req.http.X-Ban = "obj.http.X-Url ~ " + req.url; }
        set req.http.X-Tags = regsuball(req.http.X-Cache-Tags + "," + req.http.Cache-Tags + "," + req.http.Surrogate-Key +
            "," + req.http.xkey, "[,\s]+", "|");
        if (req.http.X-Tags != "|") {
            set req.http.X-Ban = "obj.http.X-Tags ~ \|(" + regsuball(req.http.X-Tags, "^\||\|$", "") + ")\|";
        }
        if (std.ban(req.http.X-Ban)) { return (synth(200, "Purged")); } else { return (synth(400, "Not a purge")); }
    }
    if (req.method == "PURGE" || req.method == "BAN") { return (synth(405)); }
}

# One spelling for one page. VCL has no variables, so notes are request headers; a client must not bring any.
sub vcl_recv {
    if (req.restarts == 0) {
        unset req.http.X-Old; unset req.http.X-Static; unset req.http.Cache-Status;
        set req.http.X-Forwarded-For = regsub(req.http.X-Forwarded-For, ", *[^,]*$", ""); # Varnish has appended nginx's
        call drop_analytics;
        # By these, frameworks take a GET for another method, and no copy's key has them.
        unset req.http.X-HTTP-Method-Override; unset req.http.X-HTTP-Method; unset req.http.X-Method-Override;
        if (req.http.Range !~ "^bytes=([0-9]+-[0-9]*|-[0-9]+)$") { unset req.http.Range; } # several, or malformed: the whole file
        if (req.url ~ "^[^?]+\.(css|js|mjs|png|jpe?g|gif|webp|avif|svg|ico|woff2?|ttf|otf)(\?|$)") { set req.http.X-Static = "yes"; }
    }
}

# A cookie that is left here may mean that its owner has signed in, so the request passes. Only a static file may come from a
# copy: one that a visitor without a cookie has caused, so it is not secret, or that the application calls `public` (below).
sub vcl_req_cookie { if (req.http.X-Static) { return; } }

# The key: this, because links may begin with it, and by Varnish's own code the address and the host.
sub vcl_hash { hash_data(req.http.X-Forwarded-Proto); }

# Expired copies, and an application that fails (a 5xx, no connection, no answer for a minute):
#     expired for         the client gets
#     up to 10 seconds    the old copy at once, while one request fetches the new page
#     longer              the new page; if that fails, the old copy, until a day after it has expired
#     there is no copy    the application's own error page
# Clients who wait for the same page share its failure: otherwise each would wait for its own, one after another. It is an
# object, fresh for those who came before it (lifetimes are compared with the time of the request). It must not replace the
# old copy, so it has to be known before the fetch whether there is one.
sub vcl_recv { if (req.http.X-Old == "seen") { set req.grace = 0s; } else { set req.grace = 24h; } }
sub vcl_hit {
    if (obj.http.X-Not-Kept || (req.http.Cookie && obj.http.Content-Type ~ "html|json")) { return (pass); } # a wiki's fox.png is a page
    if (obj.ttl < -10s && !req.http.X-Old && std.healthy(req.backend_hint)) { set req.http.X-Old = "seen"; return (restart); }
    set req.http.Cache-Status = "hit";
}
sub vcl_miss {
    if (req.is_hitmiss && req.http.Cookie) { return (pass); } # with its range and If-None-Match, which a miss leaves out
    # It has waited, and no new page came: who wakes up last does not always find the failure.
    if (req.http.X-Old == "seen" && !req.is_hitmiss && now > req.time + 0.2s) { set req.http.X-Old = "failed"; return (restart); }
    set req.http.Cache-Status = "fwd=uri-miss";
}
sub vcl_pass {
    set req.http.Cache-Status = "fwd=bypass";
    if (req.is_hitpass) { set req.http.Cache-Status = "fwd=bypass; detail=hit-for-pass"; }
    if (req.http.Cookie) { set req.http.Cache-Status = "fwd=bypass; detail=cookie"; }
}

sub vcl_backend_fetch {
    unset bereq.http.Cache-Status;
    if (bereq.is_bgfetch && bereq.http.X-Old == "failed") { return (abandon); } # it has failed just now
}

sub vcl_backend_response {
    if (beresp.http.X-Accel-Redirect != "/.nginx/unavailable") { unset beresp.http.X-Accel-Redirect; } # the 503 page alone
    if (beresp.status >= 500 && !bereq.uncacheable) {
        if (bereq.is_bgfetch) { return (abandon); }
        if (bereq.http.X-Old == "seen") { return (error(503)); } # delivered from here it would replace the old copy
        set beresp.ttl = 0.1ms; set beresp.grace = 0s; set beresp.keep = 1s; # until those who wait have woken up
        if (bereq.http.Cookie || beresp.http.Set-Cookie || beresp.http.Cache-Control ~ "(?i)private|no-store|no-cache") {
            set beresp.uncacheable = true; # for one person: each client fetches its own, side by side
        }
        return (deliver);
    }
}

sub vcl_backend_error {
    if (bereq.is_bgfetch) { return (abandon); }
    set beresp.http.X-Failed = "yes"; set beresp.http.X-Accel-Redirect = "/.nginx/unavailable";
    set beresp.grace = 0s; set beresp.keep = 0s; # the next attempt finds the old copy, if there is one, beside it
    if (bereq.http.X-Old) { set beresp.http.Vary = "X-Old"; } else { set beresp.ttl = 0.1ms; set beresp.keep = 1s; }
    return (deliver);
}

# What is kept, and for how long.
sub vcl_backend_response {
    if (bereq.uncacheable) { return (deliver); }
    if (bereq.http.X-Static && beresp.status == 200 && !beresp.http.Cache-Control && !beresp.http.Expires &&
        beresp.http.Content-Type !~ "html|json") { set beresp.ttl = 10m; } # a static file without a lifetime
    set beresp.http.X-Url = bereq.url; set beresp.http.X-Path = regsub(bereq.url, "\?.*", "");
    std.collect(beresp.http.Vary); unset beresp.http.X-Not-Kept;
    # `no-cache`, `max-age=0`, and an ETag: each time the application confirms the copy by a 304. Who waits for that asks itself.
    if (beresp.http.ETag && !bereq.http.Cookie && (beresp.ttl <= 0s || beresp.http.Cache-Control ~ "(?i)no-cache") &&
        beresp.http.Cache-Control ~ "(?i)no-cache|max-age=0") { set beresp.ttl = 0.1ms; set beresp.http.X-Not-Kept = "yes"; }
    # Large files, and streams of unknown length that are not text, would drive everything else out.
    if (beresp.ttl <= 0s || beresp.http.Set-Cookie || beresp.http.Vary ~ "\*" || beresp.http.Cache-Control ~ "(?i)private|no-store" ||
        (beresp.ttl > 1ms && beresp.http.Cache-Control ~ "(?i)no-cache") || std.integer(beresp.http.Content-Length, 0) > 8388608 ||
        (!beresp.http.Content-Length && beresp.http.Content-Type !~ "^(text|image|font)/|javascript|json|xml") ||
        (bereq.http.Cookie && (beresp.http.Content-Type ~ "html|json" ||
                               beresp.http.Cache-Control !~ "(?i)public|immutable|s-maxage"))) {
        # It leaves a mark instead: for a minute this address passes, so that ranges, If-None-Match and the parts of a stream
        # reach the application and the client. If the cookie was the reason, a client without one may still make a copy.
        std.log("rule: lifetime " + beresp.ttl + ", Cache-Control " + beresp.http.Cache-Control + ", Vary " + beresp.http.Vary +
            ", Set-Cookie " + regsub(beresp.http.Set-Cookie, "=.*", ""));
        if (std.integer(beresp.http.Content-Length, 0) > 8388608) { std.log("rule: above 8 MB"); }
        set beresp.http.X-Not-Kept = "yes"; if (!bereq.http.Cookie) { return (pass(60s)); }
        set beresp.ttl = 60s; set beresp.grace = 0s; set beresp.uncacheable = true; return (deliver);
    }
    if (beresp.ttl > 24h) { set beresp.ttl = 24h; } # a copy that was never purged should not outlive the day
    set beresp.grace = 24h; set beresp.do_stream = false; # all of it has to arrive before any of it is sent
    if (beresp.http.Cache-Control ~ "(?i)(must|proxy)-revalidate" || beresp.ttl < 1ms) { set beresp.grace = 0s; } # never old
    set beresp.do_gzip = (beresp.http.Content-Type ~ "^text/|image/svg|javascript|json|xml" && # once for all clients
        std.integer(beresp.http.Content-Length, 860) >= 860); # less fits into one packet
    set beresp.http.X-Tags = regsuball("," + beresp.http.X-Cache-Tags + "," + beresp.http.Cache-Tags + "," +
        beresp.http.Surrogate-Key + "," + beresp.http.xkey + ",", "[,\s]+", "|");
    if (beresp.ttl < 1ms) { return (deliver); } # Varnish's own rule would not keep it
}

# Every response says in Cache-Status (RFC 9211) whether it is a copy, and if not, why not.
sub vcl_deliver {
    if (resp.http.X-Failed && req.http.X-Old == "seen") { set req.http.X-Old = "failed"; return (restart); }
    set resp.http.Cache-Status = server.identity + "; " + req.http.Cache-Status;
    if (obj.uncacheable) { # of a stream nginx holds no part back
        if (!resp.http.Content-Length && resp.http.Content-Type ~ "^text|^multipart|json") { set resp.http.X-Accel-Buffering = "no"; }
    } else {
        unset resp.http.X-Accel-Buffering; if (req.http.Cache-Status ~ "miss") { set resp.http.Cache-Status = resp.http.Cache-Status + "; stored"; }
        set resp.http.Cache-Status = resp.http.Cache-Status + "; ttl=" + std.integer(duration=obj.ttl, fallback=0);
        if (obj.ttl < 0s && obj.grace > 0s) { set resp.http.Cache-Status = resp.http.Cache-Status + "; detail=stale"; }
    }
    unset resp.http.X-Not-Kept; unset resp.http.X-Failed; unset resp.http.X-Url; unset resp.http.X-Path; unset resp.http.X-Tags;
    unset resp.http.X-Cache-Tags; unset resp.http.Via; unset resp.http.X-Varnish; unset resp.http.X-Vinyl;
}
sub vcl_builtin_synth { set resp.http.Cache-Status = server.identity + "; detail=synth"; set resp.body = resp.reason; return; }
