# Varnish in front of the portal: the address of Apache. The rules are the stack's own, varnish/opendata.vcl.
vcl 4.1;

backend portal {
    .host = "portal"; # Apache's name on the network that only these two share
    .port = "8080";
}

include "opendata.vcl";
