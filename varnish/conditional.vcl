# Conditional requests, in the order of RFC 9110, 13.2.2. Varnish itself knows one tag in If-None-Match, neither If-Match nor
# If-Unmodified-Since, and no date after now; it evaluates the rest afterwards.
#
# This is for copies only: the backend gets the fields of a passed request, and judges them itself.

sub vcl_deliver {
    if (resp.status == 200 && req.http.X-Outcome != "pass") {
        call check_preconditions;
        if (req.http.If-None-Match) {
            call match_tags;
        } else {
            call match_date;
        }
    }
}

# If-Match compares strongly: a weak tag on either side matches nothing.
sub check_preconditions {
    if (req.http.If-Match) {
        if (req.http.If-Match != "*" && (!resp.http.ETag || resp.http.ETag ~ "^W/" ||
            resp.http.ETag !~ {""$"} ||
            !std.strstr(regsuball(req.http.If-Match, {"W/"[^"]*""}, ""), resp.http.ETag))) {
            call refuse;
        }
    } elsif (req.http.If-Unmodified-Since && resp.http.Last-Modified &&
             std.time(resp.http.Last-Modified, now) > std.time(req.http.If-Unmodified-Since, now)) {
        call refuse;
    }
}

# If-None-Match compares weakly, and a date beside it does not count (13.1.3). X-Accel-Redirect is removed: nginx would send the
# file even with a 304.
sub match_tags {
    unset req.http.If-Modified-Since;
    # A tag without quotes is the application's mistake: it is compared as a whole.
    if (resp.http.ETag && (req.http.If-None-Match == "*" || req.http.If-None-Match == resp.http.ETag ||
        (resp.http.ETag ~ {""$"} &&
         std.strstr(req.http.If-None-Match, regsub(resp.http.ETag, "^W/", ""))))) {
        set req.http.If-None-Match = resp.http.ETag;
        unset req.http.Range; # with one, Varnish would compare strongly
        unset resp.http.X-Accel-Redirect;
    } else {
        unset req.http.If-None-Match;
    }
}

sub match_date {
    if (req.http.If-Modified-Since && resp.http.Last-Modified &&
        std.time(req.http.If-Modified-Since, std.time(resp.http.Last-Modified, now) - 1s) >= std.time(resp.http.Last-Modified, now)) {
        set req.http.If-Modified-Since = resp.http.Last-Modified;
        unset resp.http.X-Accel-Redirect;
    }
}

# A 412 carries the validators of the current version, so that the client knows what to compare with.
sub refuse {
    set req.http.X-ETag = resp.http.ETag;
    set req.http.X-Last-Modified = resp.http.Last-Modified;
    set req.http.X-Vary = resp.http.Vary;
    std.log("rule: a precondition fails");
    return (synth(412));
}

sub vcl_synth {
    if (resp.status == 412) {
        if (req.http.X-ETag ~ ".") {
            set resp.http.ETag = req.http.X-ETag;
        }
        if (req.http.X-Last-Modified ~ ".") {
            set resp.http.Last-Modified = req.http.X-Last-Modified;
        }
        if (req.http.X-Vary ~ ".") {
            set resp.http.Vary = req.http.X-Vary;
        }
    }
}
