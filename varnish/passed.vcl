# Paths that bypass the cache: the workshop, the Flash client, WebSockets, webcam pictures.

sub vcl_recv {
    # The pattern ends at a slash: /admin/ is the workshop, /administrator is an ordinary page.
    if (req.url ~ "^/(admin|swf|ws|media/video)(/|\?|$)") {
        std.log("rule: this path is never cached");
        return (pass);
    }
}
