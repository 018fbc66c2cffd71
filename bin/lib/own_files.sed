# The files of nginx and Varnish in their containers, and in this checkout.
s|/etc/nginx/generated/starter/|starter/nginx/|g
s|/etc/nginx/generated/|nginx/|g
s|/etc/varnish/|varnish/|g
s|/etc/starter/|starter/varnish/|g
s|/tmp/varnish/rules[.]vcl|extras/app/rules.vcl|g
