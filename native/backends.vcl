# varnish/backends.vcl for processes on loopback.
backend upstage {
    .host = "127.42.0.3";
    .port = "8081";
    include "limits.vcl";
    include "probe.vcl";
}
