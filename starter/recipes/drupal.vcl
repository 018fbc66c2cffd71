# Drupal sends lifetimes (Configuration, Performance: "Browser and proxy cache maximum age"). Of its modules, Purge with Varnish
# Purger sends BAN / to varnish:6081 with the header Cache-Tags: [invalidation:expression]. In settings.php:
#     $settings['reverse_proxy'] = TRUE;  $settings['reverse_proxy_addresses'] = [$_SERVER['REMOTE_ADDR']];
# Not measured.
sub vcl_recv {
    # A person: one with a session (SESS…, or SSESS… with HTTPS). NO_CACHE means that the visitor has just sent a form.
    if (req.url !~ "^/(user|admin)(/|\?|$)" && req.http.Cookie !~ "(^|; *)(S?SESS[0-9a-z]+|NO_CACHE)=") {
        unset req.http.Cookie;
    }
}
