# The health check of a backend. Included inside a backend { }.
#
# Two failed probes in a row make it sick, so Varnish stops asking it within 5 s; three good ones make it healthy, so it
# is asked again within 7 s of its return. The initial state is healthy, so that a reload does not begin with a 503.
# https://varnish-cache.org/docs/7.1/reference/vcl-probe.html

.probe = {
    .url = "/health";
    .interval = 2s;
    .timeout = 1s;
    .window = 4;
    .threshold = 3;
    .initial = 4;
}
