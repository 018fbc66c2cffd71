# The limits of a theatre's backend, instead of limits.vcl. Fewer connections: a fetch takes two of Varnish's 400 threads,
# one for the client and one for the backend, so a theatre that hangs leaves 300 for the others. One more request would
# get a stale copy or 503 immediately.

.connect_timeout = 1s;
.first_byte_timeout = 15s;
.between_bytes_timeout = 15s;
.max_connections = 50;
