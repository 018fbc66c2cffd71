# One spelling for each request, so that one object serves it; and no header that we trust comes from a stranger.

sub vcl_recv {
    # A request that starts again (see stale.vcl) has been here before.
    if (req.restarts == 0) {
        call normalise_host;
        call normalise_client;
        call drop_private_notes;
        if (req.method == "GET" || req.method == "HEAD") {
            call normalise_query;
        }
    }
}

# Many spellings, one object. (A POST is no object, and keeps its query as it is.)
sub normalise_query {
    # From which newsletter somebody came is for scripts in the browser; the page is the same.
    set req.url = regsuball(req.url, "(?<=[?&])(utm_[a-z]+|fbclid|gclid)(=[^&]*)?(&|$)", "");
    set req.url = regsub(req.url, "[?&]$", "");
    # ?b=1&a=2 and ?a=2&b=1 are the same question.
    set req.url = std.querysort(req.url);
}

sub normalise_host {
    # The Host header is part of the cache's key. Its port is not: the same stage is reached through several. (Case makes
    # no difference either; the built-in vcl_req_host sees to that.)
    if (req.http.Host) {
        set req.http.Host = regsub(req.http.Host, ":[0-9]*$", "");
    }
}

sub normalise_client {
    # Varnish has appended the address of its own client, which is nginx, to what nginx said of the browser. The backend
    # wants the browser: the last value but one. Anything further left was sent by the browser itself and may be a lie.
    set req.http.X-Forwarded-For = regsub(req.http.X-Forwarded-For, "^(?:.*,)? *([^, ]+) *,[^,]*$", "\1");

    # One id follows a request through three logs and onto the error page, so it must be harmless in each.
    if (req.http.X-Request-Id !~ "^[0-9A-Za-z-]{1,64}$") {
        set req.http.X-Request-Id = req.xid;
    }

    # Half a range, or several, means the whole file, as RFC 9110 allows: Varnish would refuse both with 416, and many
    # overlapping ranges would make a large answer out of a small request.
    if (req.http.Range !~ "^bytes=([0-9]+-[0-9]*|-[0-9]+)$") {
        unset req.http.Range;
    }

    # CGI programs would read this as the variable HTTP_PROXY ("httpoxy").
    unset req.http.Proxy;
}

# VCL has no variables: a note from one subroutine to the next is a request header. A client may not write our notes.
sub drop_private_notes {
    unset req.http.X-Media;         # media.vcl
    unset req.http.X-Outcome;       # report.vcl
    unset req.http.Cache-Status;    # report.vcl
}
