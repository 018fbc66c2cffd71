"""The topologies of the stack: their names, and the address of each.

The Host header chooses the path of a request (docs/architecture.md). For an application of your own, the port
chooses it: requests on all three paths have its visitors' Host, because an application may redirect others.

`LOADTEST_THEATRES`: names of further theatres, separated by spaces; their host names are NAME.localhost.
`LOADTEST_APP`: the names of an application of your own (extras/app), separated by spaces;
`LOADTEST_HTTP_PORT`: the port of its visitors.
"""

import os
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

DEFAULT = "upstage.localhost"
DIRECT = "direct.localhost"
COMPARISON: list[str] = tomllib.loads((Path(__file__).parent / "comparison.toml").read_text())["names"]
CORE = (DEFAULT, *(f"{name}.localhost" for name in COMPARISON), DIRECT)
APP = "app.localhost"
APP_ALONE, APP_NGINX = "alone.app", "nginx.app"  # ports, not host names
APPS = (APP_ALONE, APP_NGINX, APP)
COMPARED = ",".join(["direct", *COMPARISON, "default"])
MOST = 20  # topologies in one comparison


def hosts() -> list[str]:
    """Return the host names that can be chosen."""
    theatres = os.environ.get("LOADTEST_THEATRES", "").split()
    apps = APPS if os.environ.get("LOADTEST_APP") else ()
    return [*CORE, *(f"{name}.localhost" for name in theatres), *apps]


def name(host: str) -> str:
    """Return the short name of a topology: `default`, or the host name without `.localhost`."""
    return "default" if host == DEFAULT else host.removesuffix(".localhost")


def parse(text: str) -> list[str]:
    """Return the host names for a text that lists topologies, by short name or host name, separated by commas
    or spaces. Raise ValueError for an unknown name, none, or too many.
    """
    known = {name(host): host for host in hosts()} | {host: host for host in hosts()}
    known["upstage"] = DEFAULT
    words = text.replace(",", " ").split()
    if unknown := [word for word in words if word not in known]:
        raise ValueError(f"unknown topology {unknown[0]!r}; known are {', '.join(map(name, hosts()))}")
    if not 1 <= len(words) <= MOST:
        raise ValueError(f"a comparison has 1 to {MOST} topologies, not {len(words)}")
    return [known[word] for word in words]


def app_host() -> str:
    """Return the Host of your own application's visitors: its first name without a pattern, with the port."""
    names = os.environ.get("LOADTEST_APP", "").split()
    name = next((name for name in names if "*" not in name and not name.startswith(".")), APP)
    port = os.environ.get("LOADTEST_HTTP_PORT", "80")
    return name if port == "80" else f"{name}:{port}"


def sets_cookie(host: str) -> bool:
    """Return whether a stage's script sets a visitor's cookie: on the default host, and in theatres."""
    return host not in (*CORE[1:], *APPS)


def by_name(host: str) -> bool:
    """Return whether nginx knows this topology by its Host header; the others have ports of their own."""
    return host not in (DIRECT, APP_ALONE, APP_NGINX)


def base_url(target: str, host: str, direct_port: int, app_port: int) -> str:
    """Return the URL of a topology; `target` is nginx's URL. Some topologies have ports of their own."""
    port = {DIRECT: direct_port, APP_ALONE: app_port, APP_NGINX: app_port + 1}.get(host)
    if port is None:
        return target
    address = urlsplit(target).hostname or ""
    return f"http://{f'[{address}]' if ':' in address else address}:{port}"


def stage_port(host: str, core: int) -> int:
    """Return the port of a topology's stage socket: theatres follow the core, in the order of the list."""
    return core if host in CORE else core + 1 + hosts().index(host) - len(CORE)


def metrics_host(host: str) -> str | None:
    """Return the host name under which nginx serves the metrics of a topology's backend, if any."""
    if host in APPS:
        return None
    # On `direct`, the backend serves HTTP itself, and its metrics on another port.
    return DEFAULT if host == DIRECT else host
