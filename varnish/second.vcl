# Profile "second": another UpStage on a name of its own. The key holds the host, so the two share the cache and no
# object in it.

backend second {
    .path = "/run/proscenium/second.sock";
    include "limits.vcl";
    include "probe.vcl";
}

sub vcl_recv {
    if (req.http.Host ~ "(?i)^second\.localhost$") {
        set req.backend_hint = second;
    }
}
