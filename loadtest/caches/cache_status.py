"""Parser for `Cache-Status` (RFC 9211), in which every cache on the path of a response reports what it did.

The field is a structured list (RFC 8941, section 3.1), the cache nearest to the backend first:

    varnish; fwd=uri-miss; stored, nginx; hit

The package `http-sf` parses any structured field, but the official Locust image does not contain it.
"""

import re
from dataclasses import dataclass

TOKEN = r"[A-Za-z*][-!#$%&'*+.^_`|~:/0-9A-Za-z]*"
STRING = r'"(?:[ !#-\[\]-~]|\\["\\])*"'
NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
BOOLEAN = r"\?[01]"
BYTES = r":[A-Za-z0-9+/=]*:"
VALUE = f"{STRING}|{TOKEN}|{NUMBER}|{BOOLEAN}|{BYTES}"
PARAMETER = f" *; *([a-z*][-_.*0-9a-z]*)(?:=({VALUE}))?"

MEMBER = re.compile(f"({TOKEN}|{STRING})((?:{PARAMETER})*)")
ONE_PARAMETER = re.compile(PARAMETER)
COMMA = re.compile(r"[ \t]*,[ \t]*")


@dataclass(frozen=True)
class Member:
    """One cache's report about one response: its name, and its parameters as written.

    A parameter without a value is the Boolean true, `?1`; strings come without their quotes.
    """

    cache: str
    parameters: dict[str, str]

    @property
    def hit(self) -> bool:
        """Whether this cache answered without its upstream (RFC 9211, section 2.1)."""
        return self.parameters.get("hit") == "?1"

    def __str__(self) -> str:
        """The member without what differs in every response, so that equal faults have equal words."""
        words = [
            key if value == "?1" else f"{key}={value}"
            for key, value in self.parameters.items()
            if key not in ("ttl", "key")
        ]
        return "; ".join([self.cache, *words])


def parse(field: str) -> list[Member]:
    """Read a whole field; the caller has joined several header lines with commas.

    Raise ValueError if it is not a list of tokens or strings with parameters: a field with one error is
    unreliable as a whole (RFC 8941, section 4.2).
    """
    field = field.strip(" ")
    members: list[Member] = []
    position = 0
    while position < len(field):
        if members:
            if not (comma := COMMA.match(field, position)):
                raise ValueError(f"expected a comma at {field[position:]!r}")
            position = comma.end()
        if not (found := MEMBER.match(field, position)):
            raise ValueError(f"expected the name of a cache at {field[position:]!r}")
        # The last of several equal parameters counts, as in a dict.
        parameters = {key: _plain(value) for key, value in ONE_PARAMETER.findall(found[2])}
        members.append(Member(_plain(found[1]), parameters))
        position = found.end()
    return members


def _plain(value: str) -> str:
    if value.startswith('"'):
        return re.sub(r'\\(["\\])', r"\1", value[1:-1])
    return value or "?1"
