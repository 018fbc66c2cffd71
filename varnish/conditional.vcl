# Conditional requests, in the order of RFC 9110, 13.2.2: as nginx and the backend answer them. Varnish itself knows one tag in
# If-None-Match, and neither If-Match nor If-Unmodified-Since; it evaluates the rest after this.
#
# Only for copies: the backend judges a passed request, whose fields it gets, and nginx a file that it sends from the disk, under a
# tag of its own.

sub vcl_deliver {
    if (resp.status == 200 && req.http.X-Outcome != "pass" && !resp.http.X-Accel-Redirect) {
        call check_preconditions;
        call match_tags;
    }
}

# If-Match compares strongly: a weak tag on either side matches nothing.
sub check_preconditions {
    if (req.http.If-Match) {
        if (req.http.If-Match != "*" && (!resp.http.ETag || resp.http.ETag ~ "^W/" ||
            !std.strstr(regsuball(req.http.If-Match, {"W/"[^"]*""}, ""), resp.http.ETag))) {
            return (synth(412));
        }
    } elsif (req.http.If-Unmodified-Since && resp.http.Last-Modified &&
             std.time(resp.http.Last-Modified, now) > std.time(req.http.If-Unmodified-Since, now)) {
        return (synth(412));
    }
}

# If-None-Match compares weakly, and a date beside it does not count (13.1.3).
sub match_tags {
    if (req.http.If-None-Match) {
        unset req.http.If-Modified-Since;
        if (resp.http.ETag && (req.http.If-None-Match == "*" ||
            std.strstr(req.http.If-None-Match, regsub(resp.http.ETag, "^W/", "")))) {
            set req.http.If-None-Match = resp.http.ETag;
        } else {
            unset req.http.If-None-Match;
        }
    }
}
