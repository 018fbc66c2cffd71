"""One connection after another, each for one request: how many does the range of client ports allow?

    python3 -m labs.bench.clients.connections '{"address": "nginx", "port": 8000, "host": "upstage.localhost",
        "path": "/favicon.ico", "closes": "client", "seconds": 4}'

The side that closes first ("client" or "server") keeps the pair of addresses and ports for a minute, in the
state TIME_WAIT. Reports the number of connections, the seconds, and how often no port was free.
"""

import errno
import json
import socket
import sys
import time
from typing import Any

PAUSE = 0.01  # seconds until the next attempt when no port is free
HEAD_END = b"\r\n\r\n"


def request(settings: dict[str, Any]) -> None:
    """Make one request over a new connection. Raise OSError, or ValueError if the response is not a 2xx."""
    server_closes = settings["closes"] == "server"
    asked = f"HEAD {settings['path']} HTTP/1.1\r\nHost: {settings['host']}\r\n"
    with socket.create_connection((settings["address"], settings["port"]), timeout=10) as connection:
        connection.sendall((asked + ("Connection: close\r\n" if server_closes else "") + "\r\n").encode())
        head = b""
        while piece := connection.recv(4096):
            head += piece
            if HEAD_END in head and not server_closes:
                break
    if not head.startswith(b"HTTP/1.1 2"):
        raise ValueError(f"the response begins with {head[:40]!r}")


def main(settings: dict[str, Any]) -> dict[str, Any]:
    """Run with these settings; return the report."""
    # Resolved once: each lookup of the name would need a port, too.
    settings = {**settings, "address": socket.gethostbyname(settings["address"])}
    done = without_port = 0
    begin = time.perf_counter()
    while not done + without_port or time.perf_counter() - begin < settings["seconds"]:
        try:
            request(settings)
            done += 1
        except OSError as error:
            if error.errno != errno.EADDRNOTAVAIL:
                raise
            without_port += 1
            time.sleep(PAUSE)
    return {"connections": done, "without_port": without_port, "seconds": time.perf_counter() - begin}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
