#!/bin/sh
# Health check of the relay: its socket is there, and the kernel lists it as listening (00010000). A request would ask the application.
path=/run/proscenium/app/app.sock
[ -S "$path" ] && grep -q " 00010000 .* $path\$" /proc/net/unix || exit 1
