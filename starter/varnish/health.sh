#!/bin/sh
# Varnish is healthy if a request goes the way of all requests, through both sockets to the
# application's address.
answer=$(curl -sSI -o /dev/null -w '%{http_code}' --unix-socket /run/web/varnish.sock \
    http://health/.nginx/health) && [ "$answer" != 503 ]
