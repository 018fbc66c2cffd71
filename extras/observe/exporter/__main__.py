"""Runs the exporter: `python -m exporter`, in the image of the backend, which has `prometheus_client`.

`COMPOSE_PROJECT_NAME`: the stack. `SERVICES`: the services whose CPU and memory are exported, separated by
spaces.
"""

import fcntl
import os
import sys
from pathlib import Path
from threading import Thread

from prometheus_client import CollectorRegistry, start_http_server

from .connections import Connections
from .requests import Requests
from .services import Services
from .sources import Sources
from .varnish import Varnishes

PORT = 9100


def main() -> None:
    """Serve all metrics until the process is ended."""
    lock = os.open("/run/observe/lock", os.O_CREAT | os.O_WRONLY)  # never closed: nginx's log has one reader
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("Another exporter of this stack is running: it holds /run/observe/lock")
    registry = CollectorRegistry()
    requests = Requests(registry, Path("/run/observe/nginx.sock"))
    connections = Connections("http://nginx:9091/")
    varnishes = Varnishes(Path("/run/varnishstat"))
    names = os.environ["SERVICES"].split()
    services = Services(os.environ["COMPOSE_PROJECT_NAME"], names, Path("/host/cgroup"), Path("/proc"))
    registry.register(
        Sources(
            {
                "requests": requests.read,
                "connections": connections.read,
                "varnish": varnishes.read,
                "services": services.read,
            }
        )
    )
    for work in (requests.listen, connections.poll):
        Thread(target=work, daemon=True).start()
    _, server = start_http_server(PORT, registry=registry)
    server.join()


if __name__ == "__main__":
    main()
