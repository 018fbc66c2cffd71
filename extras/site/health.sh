#!/bin/sh
# Health check of the relay: its sockets are there, and the kernel lists each as listening (00010000). A request would ask the application.
for path in /run/proscenium/site/*.sock; do
    [ -S "$path" ] && grep -q " 00010000 .* $path\$" /proc/net/unix || exit 1
done
