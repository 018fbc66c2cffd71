# The backend "second" (SECOND_ADDRESS; start.sh declares it): another UpStage under a host name of its own. The cache
# key contains the host, so the two share the cache but no object.

sub vcl_recv {
    if (req.http.Host ~ "(?i)^second\.localhost$") {
        set req.backend_hint = second;
    }
}
