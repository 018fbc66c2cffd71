"""The services: the program and the health check of each, as compose.yaml has them in containers.

native.sh exports the addresses and folders of addresses.env.
"""

import http.client
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

REPO = Path(__file__).resolve().parents[1]
PYTHON = sys.executable
UPSTAGE = {"PYTHONPATH": "backend/src"}
POLICYD = {"PYTHONPATH": "policyd/src"}
FIRST_THEATRE = 11  # the last number of its address
TIMEOUT = 3.0  # seconds in which a server must answer its health check

Program = tuple[list[str], Mapping[str, str]]  # a command line, and what it adds to the environment


def theatres() -> list[str]:
    """Return the further UpStage instances, in the order of their addresses."""
    return os.environ["THEATRES"].split()


def services() -> list[str]:
    """Return the services in the order of their start."""
    camera = ["camera"] if os.environ.get("CAMERA_SERVER") else []
    names = ["backend", *theatres(), "policyd", "varnish", "nginx", "locust", *camera]
    files = os.environ["COMPOSE_FILE"].split(":")
    parts = {"backend": "upstage"}
    left_out = {name for name in names if f"extras/app/without/{parts.get(name, name)}.yaml" in files}
    return [name for name in names if name not in left_out]


def program(service: str) -> Program:
    """Return the program that a service runs."""
    path, run = os.environ["PATH"], os.environ["NATIVE_RUN"]
    match service:
        case "nginx":
            return nginx("start.sh")
        case "varnish":
            return ["sh", f"{run}/varnish/start.sh"], {}
        case "locust":
            return ["sh", "loadtest/start.sh"], {"PATH": f"{Path(PYTHON).parent}:{path}"}
        case "camera":
            return [PYTHON, "-m", "upstage.camera"], UPSTAGE
        case "policyd":
            address = ["--host", f"{os.environ['NATIVE_NET']}.4", "--port", "3000"]
            address += ["--unix", f"{os.environ['SOCKETS']}/policyd/policyd.sock"]
            limits = ["--max-connections", "2048", "--max-per-address", "2000"]  # as in compose.yaml
            file = ["--file", "policyd/flashpolicy.xml"]
            return [PYTHON, "-m", "policyd", *address, *limits, *file], POLICYD
    return upstage(service, "serve")


def nginx(script: str, *arguments: str) -> Program:
    """Return one of nginx's scripts. The program is in `bin`: nginx with the distribution's stream module."""
    return ["sh", f"nginx/{script}", *arguments], {"PATH": f"{REPO}/native/bin:{os.environ['PATH']}"}


def upstage(service: str, *arguments: str) -> Program:
    """Return a command of UpStage for the backend or for a theatre, which has sockets and data of its own."""
    host, own = f"{os.environ['NATIVE_NET']}.3", dict(UPSTAGE)
    if service != "backend":
        host = f"{os.environ['NATIVE_NET']}.{FIRST_THEATRE + theatres().index(service)}"
        data = f"{os.environ['NATIVE_DATA']}/{service}"
        own |= {"UPSTAGE_DATA": f"{data}-upstage", "UPSTAGE_MEDIA": f"{data}-media"}
        own["UPSTAGE_FTP_ENDPOINT"] = ""  # the backend opens the FTP port
    own |= {
        "UPSTAGE_SOCKETS": f"{os.environ['SOCKETS']}/{service}/upstage",
        "UPSTAGE_WEB_ENDPOINT": f"tcp:8081:interface={host}",
        "UPSTAGE_METRICS_ENDPOINT": f"tcp:9110:interface={host}",
        "UPSTAGE_STAGE_ENDPOINT": f"haproxy:tcp:7230:backlog=1024:interface={host}",
    }
    return [PYTHON, "-m", "upstage", *arguments], own


def is_healthy(service: str) -> bool:
    """Check a service as the health check of its container does."""
    net = os.environ["NATIVE_NET"]
    match service:
        case "nginx":
            return answers(f"http://{net}.1:8000/.nginx/health")
        case "varnish":
            url = f"http://{net}.2:8080/.varnish/health"
            return answers(url) and answers(url, f"{os.environ['SOCKETS']}/varnish/varnish.sock")
        case "locust":
            return answers(f"http://{os.environ['BIND_ADDR']}:{os.environ['LOCUST_PORT']}/")
        case "camera":
            check: Program = [PYTHON, "-m", "upstage.camera", "check"], UPSTAGE
        case "policyd":
            check = [PYTHON, "-m", "policyd", "check", f"{net}.4", "3000"], POLICYD
        case _:
            check = upstage(service, "healthcheck")
    command, own = check
    return not subprocess.run(command, cwd=REPO, env=os.environ | own, capture_output=True).returncode


def answers(url: str, path: str = "") -> bool:
    """Return whether a URL answers 2xx or 3xx, over the Unix socket with this path if there is one."""
    # http.client instead of urllib.request, which would use a proxy if the environment names one.
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=TIMEOUT)
    try:
        if path:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.settimeout(TIMEOUT)
            connection.sock.connect(path)
        connection.request("GET", urlsplit(url).path)
        return 200 <= connection.getresponse().status < 400
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
