# A header that browsers do not send by themselves may change the application's response, and is in
# no copy's key. nginx names the first one of a request in X-Unusual (../nginx/headers.txt): such a
# request may be answered by a copy, but a response fetched for it is for its sender alone. It
# leaves no copy and no mark, and no other request waits for it.
#
# Headers by which scripts ask for another form of a page are part of the key: X-Variant is a hash
# of their values.

sub vcl_recv {
    if (req.http.X-Unusual) {
        set req.hash_ignore_busy = true;
    }
}

sub vcl_hash {
    hash_data(req.http.X-Variant);
}

sub vcl_hit {
    # An expired copy is for when the application fails (stale.vcl).
    if (req.http.X-Unusual && obj.ttl <= 0s && !req.http.X-Old) {
        set req.http.X-Old = "seen";
        return (pass);
    }
}

sub vcl_miss {
    if (req.http.X-Unusual) {
        return (pass);
    }
}

sub vcl_pass {
    if (req.http.X-Unusual) {
        std.log("rule: the header " + req.http.X-Unusual);
    }
}

sub vcl_backend_fetch {
    unset bereq.http.X-Unusual;
    unset bereq.http.X-Variant;
}
