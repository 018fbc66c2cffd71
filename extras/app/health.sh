#!/bin/sh
# Health check of the relay: its socket exists and is listening (00010000 in the kernel). A request would reach the application.
path=/run/proscenium/app/app.sock
[ -S "$path" ] && grep -q " 00010000 .* $path\$" /proc/net/unix || exit 1
