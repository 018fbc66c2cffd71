# Purging: your application drops what has changed.
#
#   PURGE /about                               this page, on every host, with any query
#   PURGE /about?id=1                          with this query alone
#   PURGE /blog/.*  X-Purge-Method: regex      all pages whose address matches, from its beginning
#   PURGE /         X-Cache-Tags: news, blog   everything with one of these words among its tags
#
# BAN means the same. A response gives its tags in X-Cache-Tags, Cache-Tags, Surrogate-Key or xkey,
# separated by commas or spaces, in one line or several; so does a purge. They are words, no
# patterns: of each, all but letters, digits, _ : and - becomes a _.
#
# Allowed on listeners whose names begin with `purge`, which no visitor reaches. An access list of
# addresses would not protect them: behind nginx every client has nginx's address.
# https://varnish-cache.org/docs/trunk/users-guide/purging.html

sub vcl_recv {
    if (local.socket !~ "^purge") {
        if (req.method == "PURGE" || req.method == "BAN") {
            std.log("rule: clients may not purge");
            return (synth(405));
        }
    } else {
        call purge_what_is_asked;
    }
}

sub purge_what_is_asked {
    if (req.method != "PURGE" && req.method != "BAN") {
        return (synth(405));
    }
    # The machine itself has the first address of the network, and its users need the token, too.
    if (local.socket == "purge_network" && "" + client.ip ~ "\.1$") {
        return (synth(405));
    }
    # A purge would drop the object of one host; a ban drops those of all. It tests the object alone
    # (obj., not req.), so that Varnish can apply it in the background.
    set req.http.X-Ban = "obj.http.X-Path == " + req.url;
    if (req.url ~ "\?") {
        set req.http.X-Ban = "obj.http.X-Url == " + req.url;
    }
    if (req.http.X-Purge-Method == "regex") {
        call refuse_a_costly_pattern;
        set req.http.X-Ban = "obj.http.X-Url ~ ^(?:" + req.url + ")";
    }
    std.collect(req.http.X-Cache-Tags, ",");
    std.collect(req.http.Cache-Tags, ",");
    std.collect(req.http.Surrogate-Key, ",");
    std.collect(req.http.xkey, ",");
    set req.http.X-Tags = req.http.X-Cache-Tags + "," + req.http.Cache-Tags + "," +
        req.http.Surrogate-Key + "," + req.http.xkey;
    set req.http.X-Tags = regsuball(req.http.X-Tags, "[^0-9A-Za-z_:,\s-]", "_");
    set req.http.X-Tags = regsuball(req.http.X-Tags, "[,\s]+", "|");
    set req.http.X-Tags = regsuball(req.http.X-Tags, "^\||\|$", "");
    if (req.http.X-Tags != "") {
        set req.http.X-Ban = "obj.http.X-Tags ~ \|(" + req.http.X-Tags + ")\|";
    }
    # X-Whose: a condition of a rule of yours, "&& obj.http.X-Own-App == yes", limits each purge.
    if (!std.ban(req.http.X-Ban + " " + req.http.X-Whose)) {
        return (synth(400, "Not a purge"));
    }
    return (synth(200, "Purged"));
}

# One `*`, `+` or `{` at most, and none behind a group: with more of them, a long address that
# anybody has asked for would take minutes, and in the end the cache
# (https://github.com/varnishcache/varnish-cache/issues/4376).
sub refuse_a_costly_pattern {
    set req.http.X-Pattern = regsuball(req.url, "\\.|\[\^?\]?[^]]*\]", "x");
    if (req.http.X-Pattern ~ "[*+{].*[*+{]|\)[*+{]|^.{1001}") {
        return (synth(400, "Not a purge: the pattern is costly"));
    }
}

# What a ban compares. Its tags stand between bars: |news|blog|
sub vcl_backend_response {
    set beresp.http.X-Url = bereq.url;
    set beresp.http.X-Path = regsub(bereq.url, "\?.*", "");
    std.collect(beresp.http.X-Cache-Tags, ",");
    std.collect(beresp.http.Cache-Tags, ",");
    std.collect(beresp.http.Surrogate-Key, ",");
    std.collect(beresp.http.xkey, ",");
    set beresp.http.X-Tags = "," + beresp.http.X-Cache-Tags + "," + beresp.http.Cache-Tags + "," +
        beresp.http.Surrogate-Key + "," + beresp.http.xkey + ",";
    set beresp.http.X-Tags = regsuball(beresp.http.X-Tags, "[^0-9A-Za-z_:,\s-]", "_");
    set beresp.http.X-Tags = regsuball(beresp.http.X-Tags, "[,\s]+", "|");
}

sub vcl_deliver {
    unset resp.http.X-Url;
    unset resp.http.X-Path;
    unset resp.http.X-Tags;
    # Tags are for caches: an nginx may pass them on to one in front of it.
    if (local.socket !~ "^nginx") {
        unset resp.http.X-Cache-Tags;
    }
}
