# X-Rule says on /try/ why a response was not stored, or was passed, in the words that the rules write into the log.

sub vcl_recv {
    if (req.restarts == 0) {
        unset req.http.X-Rule;
    }
}

sub vcl_backend_fetch {
    unset bereq.http.X-Rule;
}

sub vcl_deliver {
    if (req.url !~ "^/try/") {
        unset resp.http.X-Rule;
    } elsif (req.http.X-Rule) {
        set resp.http.X-Rule = req.http.X-Rule;
    }
}
