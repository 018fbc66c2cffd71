# Is the backend well? Included inside a backend { }.
#
# Two bad answers in a row make it sick, so within 5 s Varnish stops asking it; three good ones make it healthy, so the
# show goes on within 7 s of its return. The first guess (initial) is "healthy": a reload must not begin with a 503.

.probe = {
    .url = "/health";
    .interval = 2s;
    .timeout = 1s;
    .window = 4;
    .threshold = 3;
    .initial = 4;
}
