"""The path that a page took to its client, and the addresses of the same page over other paths.

Pages are cached by Host name. So a page describes its path by the Host name alone, except on the direct
listener, which has no cache in front.
"""

import ipaddress
import tomllib
from dataclasses import dataclass
from pathlib import Path

from twisted.web.server import Request

from upstage.web.headers import host_name

TOPOLOGIES = tomllib.loads((Path(__file__).parent.parent / "site" / "topologies.toml").read_text())
SITES = TOPOLOGIES.keys() - {"direct"}  # nginx's sites, each with its own path; other names: the default


@dataclass(frozen=True)
class Published:
    """The addresses at which browsers reach this server's stack."""

    http: int = 8080  # the port of nginx, for all its sites
    locust: int = 8089
    web: int | None = None  # the direct listener; None: not published
    theatres: tuple[str, ...] = ()  # other UpStage instances: `second` for second.localhost


class Visit:
    """The facts about one request's path for templates: `topology` is its name in TOPOLOGIES."""

    def __init__(self, request: Request, published: Published) -> None:
        self.name = host_name(request) or "localhost"
        self.published = published
        site, _, domain = self.name.partition(".")
        self.topology = site if domain == "localhost" and site in SITES else "default"
        if request.site.direct:  # type: ignore[union-attr]
            self.topology = "direct"
        # Links to .localhost work only on the machine itself: elsewhere they mean the reader's own machine.
        self.local = f".{self.name}".endswith(".localhost") or _is_loopback(self.name)

    @property
    def origin(self) -> str:
        """Scheme, host and port of this page; nginx tells no server behind it whether it received HTTPS."""
        port = self.published.web if self.topology == "direct" else self.published.http
        return f"http://{self.name}:{port or self.published.http}"

    def site(self, name: str) -> str:
        """Return the front page of one of nginx's sites, for a reader on this machine."""
        return f"http://{name}:{self.published.http}/"

    @property
    def direct(self) -> str | None:
        """The front page of this server itself; None if its port is not published."""
        if self.published.web is None:
            return None
        return f"http://{'direct.localhost' if self.local else self.name}:{self.published.web}/"

    @property
    def locust(self) -> str:
        return f"http://{'localhost' if self.local else self.name}:{self.published.locust}/"


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
