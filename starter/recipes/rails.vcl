# Rails gives a session cookie to every visitor who has seen a form. You decide which pages are the same for all visitors: their
# actions have `expires_in 1.minute, public: true`, and their paths stand here. Not measured.
sub vcl_recv {
    # Here the session cookie does not count. Every other cookie may be a person's: that of Devise (remember_user_token), or your own.
    call drop_analytics;
    if (req.http.Cookie ~ "^_[0-9a-z_]+_session=[^;]*$" && req.url ~ "^/(products|posts|about)(/|\?|$)") {
        unset req.http.Cookie;
    }
}
