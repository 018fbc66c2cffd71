# Purging: your application drops changed pages.
#
#   PURGE /about                               this page, on every host, with any query
#   PURGE /about?id=1                          with this query alone
#   PURGE /blog/.*  X-Purge-Method: regex      all pages whose address matches, from its beginning
#   PURGE /         X-Cache-Tags: news, blog   everything with one of these words among its tags
#
# BAN means the same. A response gives its tags in X-Cache-Tags, Cache-Tags, Surrogate-Key or xkey,
# separated by commas or spaces, in one line or several; so does a purge. They are words, not
# patterns.
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
    # A purge would drop the object of one host; a ban drops the objects of all hosts. It tests the
    # object alone (obj., not req.), so that Varnish can apply it in the background.
    call name_the_tags;
    if (req.http.X-Tags) {
        set req.http.X-Ban = "obj.http.X-Tags ~ ,(" + req.http.X-Tags + "),";
    } elsif (req.http.X-Purge-Method == "regex") {
        call refuse_a_costly_pattern;
        set req.url = regsuball(req.url, "%[0-9a-fA-F]{2}", "(?i:\0)");
        set req.http.X-Ban = "obj.http.X-Url ~ ^(?:" + req.url + ")";
    } else {
        call name_the_page;
    }
    # X-Whose: a condition of a rule of yours, "&& obj.http.X-Own-App == yes", limits each purge.
    if (!std.ban(req.http.X-Ban + " " + req.http.X-Whose)) {
        return (synth(400, "Not a purge"));
    }
    return (synth(200, "Purged"));
}

# Makes a pattern of the tags. They are compared letter by letter: c++ is not cc.
sub name_the_tags {
    std.collect(req.http.X-Cache-Tags, ",");
    std.collect(req.http.Cache-Tags, ",");
    std.collect(req.http.Surrogate-Key, ",");
    std.collect(req.http.xkey, ",");
    unset req.http.X-Tags;
    if (req.http.X-Cache-Tags || req.http.Cache-Tags || req.http.Surrogate-Key || req.http.xkey) {
        set req.http.X-Tags = req.http.X-Cache-Tags + "," + req.http.Cache-Tags + "," +
            req.http.Surrogate-Key + "," + req.http.xkey;
        set req.http.X-Tags = regsuball(req.http.X-Tags, "[,\s]+", ",");
        set req.http.X-Tags = regsuball(req.http.X-Tags, "^,|,$", "");
        if (req.http.X-Tags == "") {
            return (synth(400, "Not a purge: no tag"));
        }
        set req.http.X-Tags = regsuball(req.http.X-Tags, "[][\\^$.|?*+(){}]", "\\\0");
        set req.http.X-Tags = regsuball(req.http.X-Tags, ",", "|");
    }
}

# Names the page in each spelling (RFC 3986, 6.2.2), without the arguments that no key contains.
sub name_the_page {
    call drop_analytics;
    set req.url = regsuball(req.url, "%2[dD]", "-");
    set req.url = regsuball(req.url, "%2[eE]", ".");
    set req.url = regsuball(req.url, "%5[fF]", "_");
    set req.url = regsuball(req.url, "%7[eE]", "~");
    if (req.url ~ "^.{4097}|%(3[0-9]|[46][1-9a-fA-F]|[57][0-9aA])") {
        return (synth(400, "Not a purge: no copy has this address")); # normalise.vcl
    }
    set req.http.X-Pattern = regsuball(req.url, "[][\\^$.|?*+(){}]", "\\\0");
    set req.http.X-Pattern = regsuball(req.http.X-Pattern, "%[0-9a-fA-F]{2}", "(?i:\0)");
    set req.http.X-Ban = "obj.http.X-Path ~ ^" + req.http.X-Pattern + "$";
    if (req.url ~ "\?") {
        set req.http.X-Ban = "obj.http.X-Url ~ ^" + req.http.X-Pattern + "$";
    } elsif (req.url !~ "%") {
        set req.http.X-Ban = "obj.http.X-Path == " + req.url;
    }
}

# Allows one `*`, `+` or `{` at most, and none behind a group: with more, a long address that
# any client has asked for would take minutes, and in the end the cache
# (https://github.com/varnishcache/varnish-cache/issues/4376).
sub refuse_a_costly_pattern {
    set req.http.X-Pattern = regsuball(req.url, "\\.|\[\^?\]?[^]]*\]", "x");
    if (req.http.X-Pattern ~ "[*+{].*[*+{]|\)[*+{]|^.{1001}") {
        return (synth(400, "Not a purge: the pattern is costly"));
    }
}

# Notes in the object what a ban compares. The tags stand between commas: ,news,blog,
sub vcl_backend_response {
    set beresp.http.X-Url = bereq.url;
    if (bereq.url ~ "%") {
        set beresp.http.X-Url = regsuball(beresp.http.X-Url, "%2[dD]", "-");
        set beresp.http.X-Url = regsuball(beresp.http.X-Url, "%2[eE]", ".");
        set beresp.http.X-Url = regsuball(beresp.http.X-Url, "%5[fF]", "_");
        set beresp.http.X-Url = regsuball(beresp.http.X-Url, "%7[eE]", "~");
    }
    set beresp.http.X-Path = regsub(beresp.http.X-Url, "\?.*", "");
    std.collect(beresp.http.X-Cache-Tags, ",");
    std.collect(beresp.http.Cache-Tags, ",");
    std.collect(beresp.http.Surrogate-Key, ",");
    std.collect(beresp.http.xkey, ",");
    set beresp.http.X-Tags = "," + beresp.http.X-Cache-Tags + "," + beresp.http.Cache-Tags + "," +
        beresp.http.Surrogate-Key + "," + beresp.http.xkey + ",";
    set beresp.http.X-Tags = regsuball(beresp.http.X-Tags, "[,\s]+", ",");
}

sub vcl_deliver {
    unset resp.http.X-Url;
    unset resp.http.X-Path;
    unset resp.http.X-Tags;
    # Tags are for caches: an nginx may pass them on to a cache in front of it.
    if (local.socket !~ "^nginx") {
        unset resp.http.X-Cache-Tags;
    }
}
