# classic.localhost is served by a VCL of its own. "classic" is a label, a name for whichever version of classic.vcl was
# loaded last (start.sh, reload.sh); a label has to exist before a VCL that names it can be compiled.
#
# The other VCL starts from the request as it came in: what normalise.vcl has done so far is undone, and done there.

sub vcl_recv {
    if (req.restarts == 0 && req.http.Host ~ "(?i)^classic\.localhost$") {
        return (vcl(classic));
    }
}
