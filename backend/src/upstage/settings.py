"""Settings from the environment. Imports no Twisted, because the health check runs every few seconds."""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from upstage.stage.limits import MAX_PER_ADDRESS, MAX_TOGETHER, MAX_UNREAD

PACKAGE = Path(__file__).parent
MAX_SOCKET_PATH = 107  # bytes: Linux's limit


class SettingsError(ValueError):
    """A variable is invalid; the message names the variable and the expected value."""


@dataclass(frozen=True)
class Endpoint:
    """A listening address in Twisted's notation, such as `haproxy:tcp:7230:backlog=1024`."""

    description: str
    proxied: bool  # whether each connection begins with a PROXY protocol header
    port: int
    interface: str  # empty: all interfaces

    @property
    def reachable_at(self) -> tuple[str, int]:
        """Host and port for a program on the same machine."""
        anywhere = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}
        return anywhere.get(self.interface, self.interface), self.port


def parse_endpoint(variable: str, text: str) -> Endpoint:
    """Parse an endpoint string; raise SettingsError."""
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
            raise SettingsError(f"{variable}={text}: {option!r} is not a known option")
    return Endpoint(text, proxied, int(port), interface)


@dataclass(frozen=True)
class Sockets:
    """The listeners as Unix sockets, for proxies on the same machine.

    A path, unlike an address, stays valid when a container is recreated.
    """

    prefix: Path

    @property
    def web(self) -> Path:
        """The path of the web listener: HTTP."""
        return Path(f"{self.prefix}.sock")

    @property
    def stage(self) -> Path:
        """The path of the stage listener: the stage protocol, after a PROXY header."""
        return Path(f"{self.prefix}-stage.sock")

    @property
    def direct(self) -> Path:
        """The path of the direct listener: HTTP as the client sent it, after a PROXY header."""
        return Path(f"{self.prefix}-direct.sock")


def parse_sockets(text: str) -> Sockets | None:
    """Parse the common prefix of the paths; return None if it is empty. Raise SettingsError."""
    if not text:
        return None
    sockets = Sockets(Path(text))
    if not sockets.prefix.is_absolute() or len(bytes(sockets.direct)) > MAX_SOCKET_PATH:
        raise SettingsError(
            f"UPSTAGE_SOCKETS={text}: expected the beginning of absolute paths, such as /run/upstage for "
            f"/run/upstage.sock and /run/upstage-direct.sock, at most {MAX_SOCKET_PATH} bytes long"
        )
    return sockets


def parse_caches(text: str) -> tuple[tuple[str, int], ...]:
    """Parse HOST:PORT of each cache, separated by spaces, IPv6 addresses in brackets. Raise SettingsError.

    `HOST HOST:PORT` stands for the same port of several hosts.
    """
    caches = []
    port = re.search(r":\d+$", text)
    for address in text.split():
        if port and re.fullmatch("[A-Za-z0-9_.-]+", address):
            address += port[0]
        match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9_.-]+)):(\d{1,5})", address)
        if match is None or int(match[3]) > 65535:
            raise SettingsError(
                f"UPSTAGE_PURGE={text}: expected HOST:PORT, or several of them separated by spaces"
            )
        caches.append((match[1] or match[2], int(match[3])))
    return tuple(caches)


def parse_ports(variable: str, text: str) -> range:
    """Parse FIRST-LAST; raise SettingsError."""
    match = re.fullmatch(r"(\d{1,5})-(\d{1,5})", text)
    if match is None or not int(match[1]) <= int(match[2]) <= 65535:
        raise SettingsError(f"{variable}={text}: expected FIRST-LAST, two ports")
    return range(int(match[1]), int(match[2]) + 1)


def parse_ipv4(variable: str, text: str) -> str:
    """Return the text if it is empty or an IPv4 address, all that FTP's PASV can announce; else raise
    SettingsError.
    """
    try:
        return str(ipaddress.IPv4Address(text)) if text else ""
    except ValueError:
        raise SettingsError(f"{variable}={text}: expected an IPv4 address") from None


def parse_choice(variable: str, text: str, yes: str, no: str) -> bool:
    """Return whether the text is the word given as `yes`; raise SettingsError if it is neither of the two."""
    if text not in (yes, no):
        raise SettingsError(f"{variable}={text}: expected {yes} or {no}")
    return text == yes


def parse_port(variable: str, text: str) -> int:
    """Parse a port; raise SettingsError."""
    port = parse_count(variable, text)
    if port > 65535:
        raise SettingsError(f"{variable}={text}: there is no port above 65535")
    return port


def parse_theatres(text: str) -> tuple[str, ...]:
    """Parse the names of other UpStage instances, separated by spaces; raise SettingsError."""
    names = tuple(text.split())
    if not all(re.fullmatch("[a-z0-9-]{1,63}", name) for name in names):
        raise SettingsError(f"UPSTAGE_THEATRES={text}: expected names of a-z, 0-9 and -")
    return names


def parse_count(variable: str, text: str) -> int:
    """Parse a number, 1 or more; raise SettingsError."""
    if not re.fullmatch("[0-9]{1,9}", text) or int(text) < 1:
        raise SettingsError(f"{variable}={text}: expected a whole number, 1 or more")
    return int(text)


def parse_places(variable: str, text: str) -> int:
    """Parse a number, 0 for no limit; raise SettingsError."""
    return 0 if text == "0" else parse_count(variable, text)


@dataclass(frozen=True)
class Settings:
    """The checked settings. `site` and `content` are folders of the package."""

    data: Path
    media: Path
    web: Endpoint
    stage: Endpoint
    metrics: Endpoint
    admin_password: str  # empty: generated at the first start
    caches: tuple[tuple[str, int], ...] = ()  # hosts and ports where the caches in front listen for PURGE
    anonymous_fetches: int = 2  # requests in progress at a time of clients without a cookie; 0: no limit
    signup: bool = False  # whether any visitor may create a player account
    connections: int = MAX_TOGETHER  # of stage clients, by TCP and by WebSocket
    connections_per_address: int = MAX_PER_ADDRESS  # of stage clients from one address
    max_unread: int = MAX_UNREAD  # bytes that a stage may send to a client that does not read them
    load_account: Path | None = None  # the file with the account made for load tests; None: no such account
    festival: bool = True  # whether to seed the stage festival, 21 MB of media
    sockets: Sockets | None = None  # Unix sockets; None: TCP only
    direct: Endpoint | None = None  # HTTP directly from clients, headers not trusted; None: no TCP
    # Where browsers reach the stack that this server is part of, for links on its pages.
    http_port: int = 8080  # nginx
    locust_port: int = 8089
    web_port: int | None = None  # the direct listener; None: not published
    theatres: tuple[str, ...] = ()  # other UpStage instances: `second` for second.localhost
    lessons: Path | None = None  # the folder of the lessons, with docs/ beside it; None: no lessons
    traces: Path | None = None  # a Unix socket that gets the log lines of traced requests; None: off
    ftp: Endpoint | None = None  # for webcam programs; None: off
    ftp_ports: range = range(2122, 2132)  # for FTP data connections
    ftp_address: str = ""  # announced for those ports; empty: the address that the client connected to
    site: Path = PACKAGE / "site"
    content: Path = PACKAGE / "content"


def from_environment(environment: Mapping[str, str]) -> Settings:
    """Read UPSTAGE_*; an empty variable counts as unset. Raise SettingsError."""

    def value(name: str, default: str) -> str:
        return environment.get(name) or default

    def endpoint(name: str, default: str) -> Endpoint:
        return parse_endpoint(name, value(name, default))

    def path(name: str, default: str) -> Path:
        absolute = Path(value(name, default))
        if not absolute.is_absolute():
            raise SettingsError(f"{name}={absolute}: must be an absolute path")
        return absolute

    account = "UPSTAGE_LOAD_ACCOUNT_FILE"
    lessons = path("UPSTAGE_LESSONS", "") if value("UPSTAGE_LESSONS", "") else None
    sockets = parse_sockets(value("UPSTAGE_SOCKETS", ""))
    password = value("UPSTAGE_ADMIN_PASSWORD", "")
    if password and (not password.isprintable() or password != password.strip()):
        raise SettingsError("UPSTAGE_ADMIN_PASSWORD: must be one line without spaces at its ends")
    return Settings(
        data=path("UPSTAGE_DATA", "/var/lib/upstage"),
        media=path("UPSTAGE_MEDIA", "/srv/media"),
        web=endpoint("UPSTAGE_WEB_ENDPOINT", "tcp:8081"),
        stage=endpoint("UPSTAGE_STAGE_ENDPOINT", "haproxy:tcp:7230:backlog=1024"),
        metrics=endpoint("UPSTAGE_METRICS_ENDPOINT", "tcp:9110"),
        admin_password=password,
        caches=parse_caches(value("UPSTAGE_PURGE", "")),
        anonymous_fetches=parse_places("UPSTAGE_ANONYMOUS_FETCHES", value("UPSTAGE_ANONYMOUS_FETCHES", "2")),
        signup=parse_choice("UPSTAGE_SIGNUP", value("UPSTAGE_SIGNUP", "closed"), "open", "closed"),
        lessons=lessons if lessons and lessons.is_dir() else None,
        max_unread=parse_count("UPSTAGE_MAX_UNREAD", value("UPSTAGE_MAX_UNREAD", str(MAX_UNREAD))),
        load_account=path(account, "") if value(account, "") else None,
        festival=parse_choice("UPSTAGE_FESTIVAL", value("UPSTAGE_FESTIVAL", "on"), "on", "off"),
        sockets=sockets,
        direct=endpoint("UPSTAGE_DIRECT_ENDPOINT", "") if value("UPSTAGE_DIRECT_ENDPOINT", "") else None,
        http_port=parse_port("UPSTAGE_HTTP_PORT", value("UPSTAGE_HTTP_PORT", "8080")),
        locust_port=parse_port("UPSTAGE_LOCUST_PORT", value("UPSTAGE_LOCUST_PORT", "8089")),
        web_port=parse_port("UPSTAGE_WEB_PORT", port) if (port := value("UPSTAGE_WEB_PORT", "")) else None,
        theatres=parse_theatres(value("UPSTAGE_THEATRES", "")),
        traces=path("UPSTAGE_TRACES", "") if value("UPSTAGE_TRACES", "") else None,
        ftp=endpoint("UPSTAGE_FTP_ENDPOINT", "") if value("UPSTAGE_FTP_ENDPOINT", "") else None,
        ftp_ports=parse_ports("UPSTAGE_FTP_PASSIVE", value("UPSTAGE_FTP_PASSIVE", "2122-2131")),
        ftp_address=parse_ipv4("UPSTAGE_FTP_ADDRESS", value("UPSTAGE_FTP_ADDRESS", "")),
        connections=parse_count("UPSTAGE_CONNECTIONS", value("UPSTAGE_CONNECTIONS", str(MAX_TOGETHER))),
        connections_per_address=parse_count(
            "UPSTAGE_CONNECTIONS_PER_ADDRESS", value("UPSTAGE_CONNECTIONS_PER_ADDRESS", str(MAX_PER_ADDRESS))
        ),
    )
