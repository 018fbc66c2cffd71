#!/bin/sh
# eight.sh ADDRESS FOLDER: prints the responses to eight clients that ask at once.
for client in 1 2 3 4 5 6 7 8; do
    curl -s -H 'Host: 127.0.0.1' -w '\n' -D - "http://$1" >"$2/$client" &
done
wait
cat "$2"/[1-8]
