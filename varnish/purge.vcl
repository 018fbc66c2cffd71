# Purges a file that the backend has replaced or deleted, or everything with a certain tag.
#
#   PURGE /media/x.png            this path, on every host, with every query
#   PURGE /  and  X-Tag: demo     every object with this word among its X-Cache-Tags, which the backend sets
#
# Allowed on the listener "purge" only, which is open inside the back network (start.sh). An access list of
# addresses would not protect it: behind nginx every client has nginx's address.
# https://varnish-cache.org/docs/7.1/users-guide/purging.html

sub vcl_recv {
    if (local.socket == "purge") {
        if (req.method != "PURGE") {
            return (synth(405));
        }
        # A purge would drop the object of one host, but the same file is cached for each. A ban drops them all. It
        # tests the object only (obj., not req.), so that Varnish can apply it in the background and then drop it.
        set req.http.X-Ban = "obj.http.X-Path == " + regsub(req.url, "\?.*", "");
        if (req.http.X-Tag) {
            # The tag becomes part of a regular expression, so it must not contain special characters.
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
    # nginx passes them on to a cache in front of it, if there is one (nginx/cdn/http.conf).
    if (local.socket !~ "^nginx") {
        unset resp.http.X-Cache-Tags;
    }
}
