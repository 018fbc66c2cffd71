"""The policy file: its rules and its grants. Pure, except for `load`.

Flash reports no error about a policy it cannot use: it opens no socket. So everything that Flash would
ignore or misread is an error here, with the file and the line. The rules are those of Adobe's
cross-domain policy specification for socket policies.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

NUL = b"\0"
REQUEST = b"<policy-file-request/>" + NUL  # Flash Player 9.0.124 and later send it before every socket
MAX_BYTES = 20_000
FIRST_UNPRIVILEGED_PORT = 1024
LAST_PORT = 65535

ROOT = "cross-domain-policy"
DTD_NAMES = (
    "/xml/dtds/cross-domain-policy.dtd",
    "http://www.adobe.com/xml/dtds/cross-domain-policy.dtd",
    "http://www.macromedia.com/xml/dtds/cross-domain-policy.dtd",
)
ATTRIBUTES = {
    ROOT: {"xmlns:xsi", "xsi:noNamespaceSchemaLocation"},
    "site-control": {"permitted-cross-domain-policies"},
    "allow-access-from": {"domain", "to-ports", "secure"},
}
REQUIRED = {
    ROOT: set[str](),
    "site-control": {"permitted-cross-domain-policies"},
    "allow-access-from": {"domain", "to-ports"},
}
SITE_CONTROLS = ("none", "master-only", "all")
ONLY_OVER_HTTP = {  # known to Adobe's specification, but not in a socket policy
    "allow-access-from-identity",
    "allow-http-request-headers-from",
    "by-content-type",
    "by-ftp-filename",
}
DOMAIN = re.compile(r"\*|(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
PORT_ITEM = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


class PolicyError(ValueError):
    """A policy that must not be served; the text reads `file:line: reason`."""


@dataclass(frozen=True)
class Grant:
    """One `allow-access-from`: pages from `domain` may connect to the ports in `ports`."""

    domain: str
    to_ports: str
    ports: tuple[range, ...]
    line: int


@dataclass(frozen=True)
class Policy:
    """A checked policy. `answer` is what goes on the wire: the file as it is, and one NUL."""

    source: str
    answer: bytes
    site_control: str | None
    grants: tuple[Grant, ...]

    def warnings(self, listening_port: int) -> list[str]:
        """Grants that Flash will ignore because of the port this policy is served from."""
        if listening_port < FIRST_UNPRIVILEGED_PORT:
            return []
        return [
            f"{self.source}:{grant.line}: ports below 1024 granted: Flash ignores that in a policy "
            f"read from port {listening_port}; serve it on port 843"
            for grant in self.grants
            if any(ports.start < FIRST_UNPRIVILEGED_PORT for ports in grant.ports)
        ]


def load(path: Path) -> Policy:
    """Read and check a policy file. Raises `PolicyError`, which always names the file."""
    try:
        # Checked before opening, because opening a pipe would wait for a writer.
        if not path.is_file():
            raise PolicyError(f"{path}: no such file" if not path.exists() else f"{path}: not a regular file")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as problem:
        raise PolicyError(f"{path}: cannot be read: {problem.strerror}") from None
    return parse(data, str(path))


def parse(data: bytes, source: str) -> Policy:
    """Check the bytes of a policy, without NUL. Raises `PolicyError`: `source:line: reason`."""

    def fail_at(offset: int, reason: str) -> NoReturn:
        line = 1 + data.count(b"\n", 0, offset)
        raise PolicyError(f"{source}:{line}: {reason}")

    if len(data) > MAX_BYTES:
        fail_at(MAX_BYTES, f"larger than {MAX_BYTES} bytes")
    if NUL in data:
        fail_at(
            data.index(NUL),
            "a NUL byte; it would end the answer early (policyd adds the one at the end)",
        )
    if data.startswith(b"\xef\xbb\xbf"):
        fail_at(0, "starts with a byte order mark: save it as UTF-8 without one")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as problem:
        fail_at(problem.start, "neither ASCII nor UTF-8")
    return _Reader(data, source).read()


def parse_ports(text: str) -> tuple[range, ...]:
    """Read a `to-ports` value: `7230`, `123,456-458` or `*`. Raises `ValueError`."""
    if text == "*":
        return (range(1, LAST_PORT + 1),)
    ranges = []
    for item in text.split(","):
        match = PORT_ITEM.fullmatch(item)
        if not match:
            raise ValueError(
                f'"{item}" is no port, no range and not "*" (write 7230 or 123,456-458, no spaces)'
            )
        first, last = int(match[1]), int(match[2] or match[1])
        if not 1 <= first <= LAST_PORT or not 1 <= last <= LAST_PORT:
            raise ValueError(f'"{item}": ports go from 1 to {LAST_PORT}')
        if first > last:
            raise ValueError(f'"{item}": the range runs backwards')
        ranges.append(range(first, last + 1))
    return tuple(ranges)


class _Reader:
    """One pass of expat over one policy. Expat reports the line of every event and fetches nothing."""

    def __init__(self, data: bytes, source: str) -> None:
        self._data = data
        self._source = source
        self._open: list[str] = []
        self._site_control: str | None = None
        self._grants: list[Grant] = []
        self._parser = parser = expat.ParserCreate("utf-8")
        parser.XmlDeclHandler = self._declaration
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.SkippedEntityHandler = lambda name, _: self._fail(f"entity &{name}; is not allowed")
        parser.ProcessingInstructionHandler = lambda name, _: self._fail(f"<?{name}?> is not allowed")

    def read(self) -> Policy:
        try:
            self._parser.Parse(self._data, True)
        except expat.ExpatError as problem:
            reason = expat.ErrorString(problem.code)
            raise PolicyError(f"{self._source}:{problem.lineno}: not well-formed XML: {reason}") from None
        return Policy(self._source, self._data + NUL, self._site_control, tuple(self._grants))

    def _fail(self, reason: str) -> NoReturn:
        # A value that is quoted may be long; a log line must not be.
        raise PolicyError(f"{self._source}:{self._parser.CurrentLineNumber}: {reason[:300]}")

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if (encoding or "utf-8").lower() not in ("utf-8", "us-ascii", "ascii"):
            self._fail(f'encoding="{encoding}": only UTF-8 or ASCII')

    def _doctype(self, name: str, system_id: str | None, public_id: str | None, has_subset: int) -> None:
        # A subset could define entities, and entities can grow a small file into gigabytes.
        if has_subset:
            self._fail("<!DOCTYPE> with declarations of its own ([...]) is not allowed")
        if name != ROOT or public_id is not None or system_id not in DTD_NAMES:
            self._fail(f'write <!DOCTYPE {ROOT} SYSTEM "{DTD_NAMES[0]}">, or no DOCTYPE at all')

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._check_place(name)
        self._check_attributes(name, attributes)
        if name == "site-control":
            self._read_site_control(attributes["permitted-cross-domain-policies"])
        elif name == "allow-access-from":
            self._read_grant(attributes)
        self._open.append(name)

    def _end(self, name: str) -> None:
        self._open.pop()

    def _text(self, text: str) -> None:
        if text.strip():
            self._fail(f'text "{text.strip()[:40]}" outside of an element\'s attributes')

    def _check_place(self, name: str) -> None:
        if not self._open and name != ROOT:
            self._fail(f"the root element is <{name}>, it must be <{ROOT}>")
        if len(self._open) > 1:
            self._fail(f"<{name}> inside of <{self._open[-1]}>, which must be empty")
        if name in ONLY_OVER_HTTP:
            self._fail(f"<{name}> has no meaning in a socket policy")
        if name not in ATTRIBUTES or (self._open and name == ROOT):
            self._fail(f"<{name}> is not an element of a socket policy")

    def _check_attributes(self, name: str, attributes: Mapping[str, str]) -> None:
        # After a DOCTYPE expat drops unknown references: "a&x;b" would read "ab".
        begin = self._parser.CurrentByteIndex
        if b"&" in self._data[begin : self._data.index(b">", begin)]:
            self._fail(f"<{name}>: no & references in attributes, nothing here needs them")
        for attribute in attributes:
            if attribute not in ATTRIBUTES[name]:
                self._fail(f'<{name}>: unknown attribute "{attribute}"')
        for attribute in sorted(REQUIRED[name]):
            if attribute not in attributes:
                self._fail(f'<{name}>: attribute "{attribute}" is missing')

    def _read_site_control(self, value: str) -> None:
        if self._site_control is not None:
            self._fail("a second <site-control>")
        if self._grants:
            self._fail("<site-control> must stand before the first <allow-access-from>")
        if value in ONLY_OVER_HTTP:
            self._fail(f'<site-control>: "{value}" has no meaning in a socket policy')
        if value not in SITE_CONTROLS:
            self._fail(f'<site-control>: "{value}" is not one of {", ".join(SITE_CONTROLS)}')
        self._site_control = value

    def _read_grant(self, attributes: Mapping[str, str]) -> None:
        domain, to_ports = attributes["domain"], attributes["to-ports"]
        if not DOMAIN.fullmatch(domain):
            self._fail(f'domain="{domain}": a host name, *.name or * (no scheme, no port, no spaces)')
        if attributes.get("secure", "false") not in ("true", "false"):
            self._fail(f'secure="{attributes["secure"]}": true or false')
        try:
            ports = parse_ports(to_ports)
        except ValueError as problem:
            self._fail(f'to-ports="{to_ports}": {problem}')
        self._grants.append(Grant(domain, to_ports, ports, self._parser.CurrentLineNumber))
