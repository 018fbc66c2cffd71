# Emptying the cache of one file, when the backend has replaced or deleted it.
#
# Who may: whoever reaches the listener named "admin", which is open inside the back network only (start.sh). An address
# list would not do, since behind nginx every client has nginx's address.

sub vcl_recv {
    if (local.socket == "admin") {
        if (req.method != "PURGE") {
            return (synth(405));
        }
        # A purge would drop the object of one host; the same file is cached for each. A ban finds them all, and because
        # it looks at the object only (obj., not req.), Varnish works it off in the background and forgets it.
        if (std.ban("obj.http.X-Path == " + regsub(req.url, "\?.*", ""))) {
            return (synth(200));
        }
        return (synth(400, std.ban_error()));
    }
}

sub vcl_backend_response {
    set beresp.http.X-Path = regsub(bereq.url, "\?.*", "");
}

sub vcl_deliver {
    unset resp.http.X-Path;
}
