"""Settings from the environment. No Twisted in here: the health check starts every few seconds."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).parent


class SettingsError(ValueError):
    """A variable is wrong; the message names it and says what is expected."""


@dataclass(frozen=True)
class Endpoint:
    """A listening address in Twisted's notation, such as `haproxy:tcp:7230:backlog=1024`."""

    description: str
    proxied: bool  # a PROXY protocol header comes first
    port: int
    interface: str  # empty: all of them

    @property
    def reachable_at(self) -> tuple[str, int]:
        """Host and port under which a program on the same machine finds it."""
        anywhere = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}
        return anywhere.get(self.interface, self.interface), self.port


def parse_endpoint(variable: str, text: str) -> Endpoint:
    """Take an endpoint string apart; raise SettingsError."""
    parts = [re.sub(r"\\(.)", r"\1", part) for part in re.split(r"(?<!\\):", text)]
    proxied = parts[0] == "haproxy"
    kind, port, *options = [*parts[1:], "", ""] if proxied else [*parts, "", ""]
    if kind not in ("tcp", "tcp6") or not (port.isascii() and port.isdigit()):
        raise SettingsError(
            f"{variable}={text}: expected [haproxy:]tcp:PORT, with :interface=ADDRESS and "
            ":backlog=NUMBER if need be"
        )
    if int(port) > 65535:
        raise SettingsError(f"{variable}={text}: there is no port above 65535")
    interface = "::" if kind == "tcp6" else ""
    for option in filter(None, options):
        name, _, value = option.partition("=")
        if name == "interface":
            interface = value
        elif name != "backlog" or not value.isdigit():
            raise SettingsError(f"{variable}={text}: {option!r} is not known here")
    return Endpoint(text, proxied, int(port), interface)


@dataclass(frozen=True)
class Settings:
    """What the environment says, checked. `site` and `content` come with the package."""

    data: Path
    media: Path
    web: Endpoint
    stage: Endpoint
    admin_password: str  # empty: generated at the first start
    site: Path = PACKAGE / "site"
    content: Path = PACKAGE / "content"


def from_environment(environment: Mapping[str, str]) -> Settings:
    """Read UPSTAGE_*; a variable that is empty counts as not set. Raise SettingsError."""

    def value(name: str, default: str) -> str:
        return environment.get(name) or default

    def endpoint(name: str, default: str) -> Endpoint:
        return parse_endpoint(name, value(name, default))

    def folder(name: str, default: str) -> Path:
        path = Path(value(name, default))
        if not path.is_absolute():
            raise SettingsError(f"{name}={path}: must be an absolute path")
        return path

    password = value("UPSTAGE_ADMIN_PASSWORD", "")
    if password and (not password.isprintable() or password != password.strip()):
        raise SettingsError("UPSTAGE_ADMIN_PASSWORD: must be one line without spaces at its ends")
    return Settings(
        data=folder("UPSTAGE_DATA", "/var/lib/upstage"),
        media=folder("UPSTAGE_MEDIA", "/srv/media"),
        web=endpoint("UPSTAGE_WEB_ENDPOINT", "tcp:8081"),
        stage=endpoint("UPSTAGE_STAGE_ENDPOINT", "haproxy:tcp:7230:backlog=1024"),
        admin_password=password,
    )
