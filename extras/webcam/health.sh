#!/usr/bin/env bash
# Health check: exit code 0 if the backend's FTP greeting comes through this nginx.
set -eu
exec 3<>/dev/tcp/127.0.0.1/2121
head -n 1 <&3 | grep -q '^220 '
