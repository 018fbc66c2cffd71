# Varnish before the portal. The rules are the house's own, varnish/opendata.vcl; only where Apache is stands here.
vcl 4.1;

backend portal {
    .host = "portal"; # Apache's name on the network that it shares with Varnish alone
    .port = "8080";
}

include "opendata.vcl";
