# Drupal sends lifetimes (Configuration, Performance: "Browser and proxy cache maximum age"). Of its modules, Purge with Varnish
# Purger sends BAN / to varnish:6081 with the header Cache-Tags: [invalidation:expression]. In settings.php:
#     $settings['reverse_proxy'] = TRUE;  $settings['reverse_proxy_addresses'] = [$_SERVER['REMOTE_ADDR']];
# Not measured.
sub vcl_recv {
    # These are for scripts. Every other cookie may be a person's: a session (SESS…, SSESS…), a form that has just been sent
    # (NO_CACHE), a cart.
    call drop_analytics;
    if (req.http.Cookie ~ "^((big_pipe_nojs|Drupal\.(toolbar|tableDrag)[^=;]*)=[^;]*(; *|$))+$" &&
        req.url !~ "^/(user|admin)(/|\?|$)") {
        unset req.http.Cookie;
    }
}
