# Varnish's default configuration: the address of Apache, and the built-in VCL, which passes a request with a cookie and
# stores no response that sets one. https://varnish-cache.org/docs/trunk/users-guide/vcl-built-in-code.html
vcl 4.1;

backend portal {
    .host = "portal"; # Apache's name on the network that only these services share
    .port = "8080";
}
