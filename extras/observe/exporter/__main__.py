"""Runs the exporter: `python -m exporter`, in the image of the backend, which contains the libraries.

`COMPOSE_PROJECT_NAME`: the stack. `SERVICES`: the services whose CPU time and memory are exported, separated
by spaces. `OTLP`: a collector for traces, or empty; `OTLP_HEADERS`: the headers that it requires;
`TRACE_SLOW`: the time from which a request is always sent to it.
"""

import fcntl
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer

from .connections import Connections
from .inbox import Inbox
from .requests import Requests, lines
from .services import Services
from .sources import Sources
from .traces import Traces
from .varnish import Varnishes

PORT = 9100
SOCKETS = Path("/run/observe")
VARNISH = Path("/run/varnishstat")
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}


def seconds(text: str) -> float:
    """Return a time such as 300ms, 2s or 5m in seconds."""
    number = text.rstrip("ms")
    return int(number) * UNITS[text.removeprefix(number)]


def main() -> None:
    """Serve all metrics until the process is terminated."""
    lock = os.open(SOCKETS / "lock", os.O_CREAT | os.O_WRONLY)  # never closed: nginx's log has one reader
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("Another exporter of this stack is running: it holds /run/observe/lock")
    registry = CollectorRegistry()
    project, send = os.environ["COMPOSE_PROJECT_NAME"], None
    if collector := os.environ.get("OTLP"):
        from .otlp import Sender, from_a_container  # imported only if needed, because it takes memory

        slow = seconds(os.environ["TRACE_SLOW"])
        send = Sender(from_a_container(collector), project, slow, os.environ.get("OTLP_HEADERS", ""))
    traces = Traces(send)
    requests = Requests(registry)

    def from_nginx(datagram: bytes) -> None:
        for line in lines(datagram):
            _, is_trace, text = line.partition(b" trace: ")
            traces.nginx(text) if is_trace else requests.count(line)

    nginx = Inbox(SOCKETS / "nginx.sock", from_nginx)
    backend = Inbox(SOCKETS / "backend.sock", traces.backend)
    connections = Connections("http://nginx:9091/")
    varnishes = Varnishes(VARNISH)
    services = Services(project, os.environ["SERVICES"].split(), Path("/host/cgroup"), Path("/proc"))
    registry.register(
        Sources(
            {
                "requests": nginx.check,
                "connections": connections.read,
                "varnish": varnishes.read,
                "services": services.read,
                "traces": lambda: [*backend.check(), *traces.read(), *(send.read() if send else ())],
            }
        )
    )
    for work in (nginx.listen, backend.listen, connections.poll, traces.work, lambda: traces.follow(VARNISH)):
        Thread(target=work, daemon=True).start()
    serve(make_wsgi_app(registry), traces)


def serve(metrics: Callable[..., Iterable[bytes]], traces: Traces) -> None:
    """Answer `/traces` with the last traces, everything else with the metrics, forever."""

    class Silent(WSGIRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Log nothing: Prometheus scrapes every two seconds."""

    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] != "/traces":
            return metrics(environ, start_response)
        start_response("200 OK", [("Content-Type", "application/json"), ("Cache-Control", "no-store")])
        return [traces.shown()]

    with make_server("", PORT, app, ThreadingWSGIServer, Silent) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
