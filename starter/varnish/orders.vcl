# A response that tells a proxy what to do: to send a file in its place (X-Accel-Redirect,
# X-Sendfile), or to assemble a page from parts (ESI). Nothing here obeys, and the response is not
# kept, because a header of the visitor's request may have caused it: Rack reads X-Accel-Mapping,
# Symfony Surrogate-Capability. Orders to nginx itself do not arrive here: nginx replaces them by
# X-Accel-Expires, which says that there was an order (../nginx/application.conf).

sub vcl_backend_response {
    if (beresp.http.X-Accel-Expires || beresp.http.X-Accel-Limit-Rate ||
        beresp.http.X-Accel-Charset ||
        beresp.http.X-Accel-Redirect && beresp.http.X-Accel-Redirect != "/.nginx/unavailable" ||
        beresp.http.X-Sendfile || beresp.http.X-LIGHTTPD-Send-File ||
        beresp.http.X-Reproxy-URL || beresp.http.X-Reproxy-File ||
        beresp.http.Surrogate-Control ~ "(?i)ESI") {
        std.log("rule: an order for a proxy");
        unset beresp.http.X-Accel-Expires;
        unset beresp.http.X-Accel-Limit-Rate;
        unset beresp.http.X-Accel-Charset;
        unset beresp.http.X-Accel-Redirect;
        unset beresp.http.X-Sendfile;
        unset beresp.http.X-LIGHTTPD-Send-File;
        unset beresp.http.X-Reproxy-URL;
        unset beresp.http.X-Reproxy-File;
        unset beresp.http.Surrogate-Control;
        if (!bereq.uncacheable) {
            call for_who_asked_alone;
        }
    }
}
