"""The topologies of the stack: their names, and the address of each.

The Host header chooses the path of a request (docs/architecture.md).

`LOADTEST_THEATRES`: names of further theatres, separated by spaces; the host name of each is NAME.localhost.
"""

import os
from urllib.parse import urlsplit

DEFAULT = "upstage.localhost"
DIRECT = "direct.localhost"
CORE = (DEFAULT, "classic.localhost", "nginx.localhost", "static.localhost", DIRECT)
COMPARED = "direct,classic,nginx,static,default"
MOST = 20  # in one comparison


def hosts() -> list[str]:
    """The host names that can be chosen."""
    theatres = os.environ.get("LOADTEST_THEATRES", "").split()
    return [*CORE, *(f"{name}.localhost" for name in theatres)]


def name(host: str) -> str:
    """The short name of a topology: `default`, or the first label of its host name."""
    return "default" if host == DEFAULT else host.partition(".")[0]


def parse(text: str) -> list[str]:
    """The host names in a list separated by commas or spaces. Raise ValueError for an unknown name."""
    known = {name(host): host for host in hosts()} | {host: host for host in hosts()}
    known["upstage"] = DEFAULT
    words = text.replace(",", " ").split()
    if unknown := [word for word in words if word not in known]:
        raise ValueError(f"unknown topology {unknown[0]!r}; known are {', '.join(map(name, hosts()))}")
    if not 1 <= len(words) <= MOST:
        raise ValueError(f"a comparison has 1 to {MOST} topologies, not {len(words)}")
    return [known[word] for word in words]


def base_url(target: str, host: str, direct_port: int) -> str:
    """The URL of a topology, if `target` is that of nginx. Only the direct one has its own port."""
    if host != DIRECT:
        return target
    address = urlsplit(target).hostname or ""
    return f"http://{f'[{address}]' if ':' in address else address}:{direct_port}"


def stage_port(host: str, core: int) -> int:
    """The port of a topology's stage socket: theatres follow the core, in the order of the list."""
    return core if host in CORE else core + 1 + hosts().index(host) - len(CORE)


def metrics_host(host: str) -> str:
    """The host name under which nginx serves the metrics of a topology's backend."""
    # Only the backend speaks HTTP on `direct`, and it serves its metrics on another port.
    return DEFAULT if host == DIRECT else host
