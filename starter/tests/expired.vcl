# For tests of expired copies, so that they need not wait: a response with an Age is stored as if its lifetime had been one second.
sub vcl_builtin_backend_response {
    if (beresp.http.Age) { set beresp.ttl = 1s - std.duration(beresp.http.Age + "s", 0s); return (deliver); }
}
