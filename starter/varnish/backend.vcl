# Your application, as Varnish reaches it: a server of ../nginx, which follows the application to a
# new address. (Varnish looks a name up only once, when it loads this file.)

backend app {
    .path = "/run/web/app.sock";
    .first_byte_timeout = 65s; # nginx gives up after 60 s
    .between_bytes_timeout = 65s;
    .max_connections = 150; # each takes two of 400 threads (options); above that: overflow.vcl
}
