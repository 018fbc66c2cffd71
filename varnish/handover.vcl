# Hands classic.localhost over to its own VCL. "classic" is a label: a name for the version of classic.vcl that was
# loaded last (start.sh, reload.sh). A label must exist before a VCL that names it is compiled.
# https://varnish-cache.org/docs/7.1/users-guide/vcl-separate.html
#
# The other VCL starts from the request as it arrived, without the changes made here so far.

sub vcl_recv {
    if (req.restarts == 0 && req.http.Host ~ "(?i)^classic\.localhost$") {
        return (vcl(classic));
    }
}
