"""Parser for `Cache-Status` (RFC 9211), in which every cache on the path of a response reports what it did.

The field is a list; the cache nearest to the backend comes first:

    varnish; fwd=uri-miss; stored, nginx; hit

The package `http-sf` parses any structured field, but the official Locust image does not contain it.
"""

import re
from dataclasses import dataclass

STRING = r'"(?:\\.|[^"\\])*"'  # may contain both separators
MEMBER = re.compile(f'(?:[^,"]|{STRING})+')
PART = re.compile(f'(?:[^;"]|{STRING})+')


@dataclass(frozen=True)
class Member:
    """One cache's report about one response: its name, and its parameters as written.

    A parameter without a value is the Boolean true, `?1`; strings come without their quotes.
    """

    cache: str
    parameters: dict[str, str]

    @property
    def hit(self) -> bool:
        """Whether this cache answered without asking its upstream (RFC 9211, section 2.1)."""
        return self.parameters.get("hit") == "?1"

    def __str__(self) -> str:
        """Return the member without values that differ in every response: equal faults have equal texts."""
        words = [
            key if value == "?1" else f"{key}={value}"
            for key, value in self.parameters.items()
            if key not in ("ttl", "key")
        ]
        return "; ".join([self.cache, *words])


def parse(field: str) -> list[Member]:
    """Return the members of a whole field, in its order; the caller has joined repeated header lines with
    commas.
    """
    members = []
    for member in MEMBER.findall(field):
        if parts := [part.strip() for part in PART.findall(member)]:
            pairs = (parameter.partition("=") for parameter in parts[1:])
            members.append(Member(_plain(parts[0]), {key: _plain(value) for key, _, value in pairs}))
    return members


def _plain(value: str) -> str:
    if value.startswith('"'):
        return re.sub(r'\\(["\\])', r"\1", value[1:-1])
    return value or "?1"
