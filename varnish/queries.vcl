# No page of UpStage reads an argument, so the arguments of a page (?page=17&sort=name) are dropped: arguments that crawlers
# invent, or that links get on their way, make no other page. A bare word (?WORD) stays: with one, the lessons request a page that
# has a copy of its own. Files keep their whole query, because their version is in it, and so do paths that are never cached.

sub vcl_recv {
    if (req.url ~ "^/[^?.]*\?.*=" && (req.method == "GET" || req.method == "HEAD") &&
        req.url !~ "^/(admin|swf|ws|media|speech)(/|\?)") {
        set req.url = regsub(regsuball(req.url, "(?<=[?&])[^&=]*=[^&]*(&|$)", ""), "[?&]$", "");
    }
}
