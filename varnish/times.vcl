# The time limits of a backend. Included inside a backend { }.
# https://varnish-cache.org/docs/7.1/reference/vcl-backend.html

.connect_timeout = 1s;          # the backend is nearby: it accepts within a millisecond or not at all
.first_byte_timeout = 15s;      # long enough for speech synthesis
.between_bytes_timeout = 15s;
