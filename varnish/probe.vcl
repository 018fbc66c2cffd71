# The health check of a backend. Included inside a backend { }.
#
# Five failed probes in a row make it sick, so Varnish stops asking a dead backend within 1.5 s and one that hangs within 7 s.
# One good probe makes it healthy: it is asked again a quarter of a second after its return. On a machine that is short of CPU
# time, a live backend sometimes needs a second, but hardly ever five times in a row. The initial state is healthy, so that
# a reload does not begin with a 503. https://varnish-cache.org/docs/7.1/reference/vcl-probe.html

.probe = {
    .url = "/health";
    .interval = 250ms;
    .timeout = 1s;
    .window = 5;
    .threshold = 1;
    .initial = 5;
}
