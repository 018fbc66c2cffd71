# Every response says in Cache-Status (RFC 9211) whether it is a copy, and if not, why not.

sub vcl_hit {
    set req.http.Cache-Status = "hit";
}

sub vcl_miss {
    set req.http.Cache-Status = "fwd=uri-miss";
}

sub vcl_pass {
    set req.http.Cache-Status = "fwd=bypass";
    if (req.is_hitpass) {
        set req.http.Cache-Status = "fwd=bypass; detail=hit-for-pass";
    } elsif (req.method == "HEAD") {
        set req.http.Cache-Status = {"fwd=method; detail="HEAD makes no copy""};
    }
    if (req.http.X-Unusual) {
        set req.http.Cache-Status = {"fwd=bypass; detail="header "} + req.http.X-Unusual + {"""};
    }
    if (req.http.Cookie) {
        set req.http.Cache-Status = "fwd=bypass; detail=cookie";
    }
}

sub vcl_backend_fetch {
    unset bereq.http.Cache-Status;
}

sub vcl_deliver {
    # Append to what the application, or a cache in it, has said.
    if (resp.http.Cache-Status ~ ".") {
        std.collect(resp.http.Cache-Status);
        set resp.http.Cache-Status = resp.http.Cache-Status + ", ";
    }
    set resp.http.Cache-Status = resp.http.Cache-Status + server.identity + "; " +
        req.http.Cache-Status;
    if (!obj.uncacheable) {
        if (req.http.Cache-Status ~ "miss") {
            set resp.http.Cache-Status = resp.http.Cache-Status + "; stored";
        }
        set resp.http.Cache-Status = resp.http.Cache-Status +
            "; ttl=" + std.integer(duration=obj.ttl, fallback=0);
        if (obj.ttl < 0s && obj.grace > 0s) {
            set resp.http.Cache-Status = resp.http.Cache-Status + "; detail=stale";
        }
    }
    # Remove headers that are for caches only, or would help an attacker.
    unset resp.http.X-Cache-Tags;
    unset resp.http.Via;
    unset resp.http.X-Varnish;
    unset resp.http.X-Vinyl; # Vinyl Cache's name for X-Varnish
}

sub vcl_builtin_synth {
    set resp.http.Cache-Status = server.identity + "; detail=synth";
    set resp.body = resp.reason;
    return;
}
