# Text is compressed once, when it is stored, and then sent so to everybody who takes it; for the few who do not, Varnish
# unpacks it. (nginx would do it anew for every answer. On classic.localhost it does: the article's comments say so.)
#
# Pictures and sounds are packed already, and below a packet's size there is nothing to gain. Varnish itself takes care
# of Vary, and makes a strong ETag a weak one: the bytes are no longer the backend's.

sub vcl_backend_response {
    if (beresp.status == 200 && !bereq.uncacheable &&
        beresp.http.Content-Type ~ "^(text/|image/svg|application/(javascript|json|xml))" &&
        std.integer(beresp.http.Content-Length, 860) >= 860) {
        set beresp.do_gzip = true;
    }
}
