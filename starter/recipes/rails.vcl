# Rails gives a session cookie to every visitor who has seen a form. Which pages are the same for all visitors is for you to say:
# their actions have `expires_in 1.minute, public: true`, and their paths stand here. Not measured.
sub vcl_recv {
    # A person: one with a cookie of Devise (remember_user_token), or your own (user_id).
    if (req.url ~ "^/(products|posts|about)(/|\?|$)" && req.http.Cookie !~ "(^|; *)(remember_user_token|user_id)=") {
        unset req.http.Cookie;
    }
}
