# Profile "mirror": a second backend with the same content stands by, as the article's mirror did at the festival. It is
# asked while the first one is sick; when the probe finds the first one well again, the first one is asked again.

import directors;

backend mirror {
    .path = "/run/proscenium/mirror.sock";
    include "limits.vcl";
    include "probe.vcl";
}

sub vcl_init {
    new theatre = directors.fallback();
    theatre.add_backend(upstage);
    theatre.add_backend(mirror);
}

sub vcl_recv {
    set req.backend_hint = theatre.backend();
}

# The probe needs a few seconds to notice. Until then the second try (stale.vcl) is the mirror's.
sub vcl_backend_fetch {
    if (bereq.retries > 0 && bereq.backend == theatre.backend()) {
        set bereq.backend = mirror;
    }
}
