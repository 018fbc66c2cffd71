# The health check of a backend. Included inside a backend { }.
#
# Two failed probes in a row make it sick, so Varnish stops asking a dead one within 3 s and one that hangs within 5 s. One
# good probe makes it healthy: it is asked again within a second of its return. On a machine that is short of CPU time, a
# live backend sometimes needs a second, but hardly ever two seconds twice. The initial state is healthy, so that a
# reload does not begin with a 503. https://varnish-cache.org/docs/7.1/reference/vcl-probe.html

.probe = {
    .url = "/health";
    .interval = 1s;
    .timeout = 2s;
    .window = 2;
    .threshold = 1;
    .initial = 2;
}
