# Compresses text once, when it is stored. Varnish sends it compressed to every client that accepts that, and
# decompresses it for the others. (nginx would compress every response again. On classic.localhost it does, as in the
# article.)
#
# A response that is not stored stays as it is (store.vcl): the work would be for one client, and a page that an application
# writes part by part would arrive only when it is complete.
#
# Pictures and sounds are compressed formats already, and below the size of a packet there is nothing to gain. Varnish
# itself sets Vary, and makes a strong ETag a weak one, because the bytes are no longer the backend's.
# https://varnish-cache.org/docs/7.1/users-guide/compression.html

sub vcl_backend_response {
    if (beresp.status == 200 && !bereq.uncacheable && beresp.http.Cache-Control !~ "(?i)no-transform" &&
        beresp.http.Content-Type ~ "^(text/|image/svg|application/(javascript|json|xml))" &&
        std.integer(beresp.http.Content-Length, 860) >= 860) {
        set beresp.do_gzip = true;
    }
}
