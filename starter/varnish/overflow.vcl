# No place is free among the connections to the application (backend.vcl): nginx asks it itself.
# What waits inside the application, such as a long poll, would take the places that others need.

sub vcl_deliver {
    if (resp.http.X-Failed && req.http.X-Old !~ "seen|own" && now < req.time + 0.5s &&
        std.healthy(req.backend_hint) && local.socket ~ "^nginx") {
        set resp.http.X-Accel-Redirect = "@straight";
        return (deliver);
    }
}
