"""Health check of the Locust container: exit code 0 if the web UI answers, or the worker has a master.

A worker listens on no port, but it keeps a connection to its master, and Locust ends a worker after a minute
without messages. So the check looks for that connection among those of this container.
"""

import http.client
import os
import sys

import psutil


def main() -> str | None:
    """The fault, or None if the container is healthy."""
    return worker() if os.environ.get("LOADTEST_MASTER") else web_ui()


def web_ui() -> str | None:
    """Request the front page."""
    # http.client instead of urllib.request, which would use a proxy if the environment names one.
    ui = http.client.HTTPConnection("127.0.0.1", int(os.environ.get("LOCUST_WEB_PORT", "8089")), timeout=3)
    try:
        ui.request("GET", "/")
        # With a web login the front page redirects to the login page.
        if ui.getresponse().status in (200, 302):
            return None
    except (OSError, http.client.HTTPException) as error:
        return f"web UI does not answer: {error}"
    return "web UI answers with an error"


def worker() -> str | None:
    """Look for an open connection to the master's port."""
    port = int(os.environ.get("LOCUST_MASTER_NODE_PORT", "5557"))
    for connection in psutil.net_connections("tcp"):
        if (
            connection.status == psutil.CONN_ESTABLISHED
            and connection.raddr
            and connection.raddr.port == port
        ):
            return None
    return "no connection to the master"


if __name__ == "__main__":
    sys.exit(main())
