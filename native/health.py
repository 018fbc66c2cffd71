"""health.py URL [SOCKET]: exit 0 if the URL answers 2xx or 3xx within 3 seconds, and over the socket, too."""

import http.client
import socket
import sys
from urllib.parse import urlsplit

url = urlsplit(sys.argv[1])
for path in [None, *sys.argv[2:]]:
    # http.client instead of urllib.request, which would use a proxy if the environment names one.
    connection = http.client.HTTPConnection(url.netloc, timeout=3)
    try:
        if path:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.settimeout(3)
            connection.sock.connect(path)
        connection.request("GET", url.path)
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        sys.exit(f"{path or sys.argv[1]}: {error!r}")
    if not 200 <= status < 400:
        sys.exit(f"{path or sys.argv[1]}: {status}")
