# Emptying the cache of one file, when the backend has replaced or deleted it; or of everything that bears a tag.
#
#   PURGE /media/x.png            this path, on every host, with every query
#   PURGE /  and  X-Tag: demo     every object whose X-Cache-Tags, words set by the backend, hold this one
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
        set req.http.X-Ban = "obj.http.X-Path == " + regsub(req.url, "\?.*", "");
        if (req.http.X-Tag) {
            # The tag becomes part of a pattern, so nothing in it may mean something there.
            if (req.http.X-Tag !~ "^[0-9A-Za-z_:-]{1,64}$") {
                return (synth(400, "Not a tag"));
            }
            set req.http.X-Ban = "obj.http.X-Cache-Tags ~ (^|\s)" + req.http.X-Tag + "(\s|$)";
        }
        if (std.ban(req.http.X-Ban)) {
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
    unset resp.http.X-Cache-Tags;
}
