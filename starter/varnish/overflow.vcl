# All of Varnish's connections to the application are taken (backend.vcl), so nginx asks the
# application directly. Otherwise requests that wait inside the application, such as long polls,
# would take the places that others need.

sub vcl_deliver {
    if (resp.http.X-Failed && req.http.X-Old !~ "seen|own" && now < req.time + 0.5s &&
        std.healthy(req.backend_hint) && local.socket ~ "^nginx") {
        set resp.http.X-Accel-Redirect = "@straight";
        return (deliver);
    }
}
