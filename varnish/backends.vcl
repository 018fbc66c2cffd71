# The seam: where the backend is, and nothing else. Native mode and the tests put a backends.vcl of their own in a
# folder that vcl_path names first; every rule stays the same.
#
# Varnish looks the name up once, when it loads this file: a backend with a new address needs a reload.

backend upstage {
    .host = "backend";
    .port = "8081";
    include "limits.vcl";
    include "probe.vcl";
}
