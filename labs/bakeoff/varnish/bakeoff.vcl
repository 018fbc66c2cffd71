# Varnish before the prefork Apache, with its own rules and nothing added: what says nothing of its age is kept for two
# minutes (default_ttl), what comes with a cookie is passed on. The site's rewriting, names and PHP stay Apache's.
vcl 4.1;

backend apache {
    .host = "bakeoff-prefork";
    .port = "8080";
}
