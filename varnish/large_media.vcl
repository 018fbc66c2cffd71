# Large media stay on the disk. If nginx says that it can read the disk (X-Accel-Media), the backend answers with the
# name of the file in X-Accel-Redirect; other clients get the body. The two responses are variants, by Vary. Varnish
# stores the headers of the first; nginx reads the file from the disk and serves its ranges.

sub vcl_recv {
    # An empty X-Accel-Media tells the backend that the response has variants here.
    if (!req.http.X-Accel-Media) {
        set req.http.X-Accel-Media = "";
    }
}

sub vcl_deliver {
    if (resp.http.X-Accel-Redirect) {
        unset req.http.Range;
        unset resp.http.Accept-Ranges; # nginx sends its own
    }
    # This Vary is for Varnish alone: clients see only one of the variants.
    if (resp.http.Vary == "X-Accel-Media") {
        unset resp.http.Vary;
    }
}
