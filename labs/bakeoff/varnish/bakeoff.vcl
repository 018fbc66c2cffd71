# Varnish in front of the prefork Apache, with its built-in rules only: responses without a lifetime are cached for two
# minutes (default_ttl), requests with a cookie are passed. Rewriting, host names and PHP remain Apache's.
vcl 4.1;

backend apache {
    .host = "bakeoff-prefork";
    .port = "8080";
}
