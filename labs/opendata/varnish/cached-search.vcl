# "Actually, we can cache also the search pages": the article's closing idea. The URL is the key, so a client no longer
# sees the number of its own searches. A POST is still passed: its body is not part of the key.
vcl 4.1;

include "./portal.vcl";

sub vcl_recv {
    unset req.http.Cookie;
}

sub vcl_backend_response {
    unset beresp.http.Set-Cookie;
    if (beresp.status == 200) {
        set beresp.ttl = 1h;
    }
}
