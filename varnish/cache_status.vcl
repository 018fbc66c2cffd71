# Every response says how it was handled, in Cache-Status (RFC 9211) and, for a browser's developer tools, in
# Server-Timing.
#
# Cache-Status begins with the name of this Varnish (VARNISH_NAME in settings.sh): a ring has several.
#
#   outcome        Cache-Status: varnish; ...           what happened
#   hit            hit; ttl=43190                       a fresh copy
#   stale          hit; ttl=-3; detail=stale            an expired copy, see stale.vcl
#   miss           fwd=uri-miss; stored; ttl=43199      fetched and stored (without "stored": not storable)
#   hit-for-miss   fwd=miss; detail=hit-for-miss        fetched, because the last response was not storable
#   pass           fwd=bypass; detail=pass              private, by a rule or by a cookie; other methods: fwd=method
#   error          fwd=...; detail=error                the backend failed: our 503 page
#   synth          detail=synth                         Varnish's own page, because of the request itself
#
# ttl is rounded down: an object that was stored for 43,200 seconds says 43199 from the first response on.
#
# "uri-miss" also covers a copy that was too old to use: VCL cannot tell the two apart. A WebSocket (pipe) has no report,
# because VCL does not see its response.

sub vcl_hit {
    set req.http.X-Outcome = "hit";
    set req.http.Cache-Status = server.identity + "; hit";
    if (obj.ttl < 0s) {
        set req.http.X-Outcome = "stale";
    }
}

sub vcl_miss {
    set req.http.X-Outcome = "miss";
    set req.http.Cache-Status = server.identity + "; fwd=uri-miss";
    if (req.is_hitmiss) {
        set req.http.X-Outcome = "hit-for-miss";
        set req.http.Cache-Status = server.identity + "; fwd=miss";
    }
}

sub vcl_pass {
    set req.http.X-Outcome = "pass";
    set req.http.Cache-Status = server.identity + "; fwd=bypass";
    if (req.method != "GET" && (req.method != "HEAD" || req.http.X-Own-App && !req.http.Cookie &&
        !req.http.Authorization && !req.is_hitpass)) { # keep.vcl
        set req.http.Cache-Status = server.identity + "; fwd=method";
    }
}

# These notes are not for the backend. (X-Media is sent: vcl_backend_response can read only the headers that were sent.)
sub vcl_backend_fetch {
    unset bereq.http.X-Outcome;
    unset bereq.http.Cache-Status;
}

sub vcl_deliver {
    if (!obj.uncacheable) {
        if (req.http.X-Outcome == "miss" || req.http.X-Outcome == "hit-for-miss") {
            set req.http.Cache-Status = req.http.Cache-Status + "; stored";
        }
        set req.http.Cache-Status = req.http.Cache-Status + "; ttl=" + std.integer(duration=obj.ttl, fallback=0);
    }
    if (req.http.X-Outcome == "pass" && req.http.X-Unusual) { # of an application of your own (app.vcl)
        set req.http.Cache-Status = req.http.Cache-Status + {"; detail="header "} + req.http.X-Unusual + {"""};
    } elsif (req.http.Cache-Status ~ "fwd=method$" && req.method == "HEAD") {
        set req.http.Cache-Status = req.http.Cache-Status + {"; detail="HEAD makes no copy""};
    } elsif (req.http.X-Outcome != "hit" && req.http.X-Outcome != "miss") {
        set req.http.Cache-Status = req.http.Cache-Status + "; detail=" + req.http.X-Outcome;
    }
    call write_report;
}

sub vcl_synth {
    if (!req.http.X-Outcome) {
        set req.http.Cache-Status = server.identity;
    }
    set req.http.X-Outcome = "synth";
    if (resp.status == 503) {
        set req.http.X-Outcome = "error";
    }
    set req.http.Cache-Status = req.http.Cache-Status + "; detail=" + req.http.X-Outcome;
    call write_report;
}

sub write_report {
    # The members that an application of your own has sent stay.
    if (resp.http.Cache-Status ~ ".") {
        std.collect(resp.http.Cache-Status);
        set resp.http.Cache-Status = resp.http.Cache-Status + ", " + req.http.Cache-Status;
    } else {
        set resp.http.Cache-Status = req.http.Cache-Status;
    }
    if (resp.http.Server-Timing ~ ".") {
        std.collect(resp.http.Server-Timing);
        set resp.http.Server-Timing = {"varnish;desc=""} + req.http.X-Outcome + {"", "} + resp.http.Server-Timing;
    } else {
        set resp.http.Server-Timing = {"varnish;desc=""} + req.http.X-Outcome + {"""};
    }

    # Remove headers that only disclose products and versions. Age stays: browsers need it.
    unset resp.http.Server;
    unset resp.http.Via;
    unset resp.http.X-Varnish;
    unset resp.http.X-Vinyl;        # Vinyl Cache's name for X-Varnish
    unset resp.http.X-Powered-By;
}
