# The backend "mirror" (MIRROR_ADDRESS; start.sh declares it): a standby with the same content, as the article had at
# the festival. Varnish uses it while the first backend is sick, and returns to the first when the probe finds it
# healthy again. https://varnish-cache.org/docs/7.1/reference/vmod_directors.html

import directors;

sub vcl_init {
    new upstage_or_mirror = directors.fallback();
    upstage_or_mirror.add_backend(upstage);
    upstage_or_mirror.add_backend(mirror);
}

sub vcl_recv {
    set req.backend_hint = upstage_or_mirror.backend();
}

# The probe takes a few seconds to notice a failure. Until then the second attempt (stale.vcl) goes to the mirror.
sub vcl_backend_fetch {
    if (bereq.retries > 0 && bereq.backend == upstage_or_mirror.backend()) {
        set bereq.backend = mirror;
    }
}
