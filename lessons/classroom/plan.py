"""Where each copy of a class is: its ports, subnets and project name follow from its number. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network

MOST = 99  # copies: two digits of a port are the copy's
BLOCK = 100  # ports of a copy
# The last two digits of a port are those of its default: 8080 of copy 7 is 20780.
PORTS = {
    "HTTP_PORT": 80,
    "HTTPS_PORT": 43,
    "SWF_PORT": 30,
    "POLICY_FILE_PORT": 0,
    "LOCUST_PORT": 89,
    "WEB_PORT": 81,  # extras/direct
    "OBSERVE_PORT": 90,  # extras/observe
    "SITE_PURGE_PORT": 61,  # extras/site
    "THEATRES_SWF_PORT": 31,  # the first theatre; the others follow
    "FTP_PORT": 21,  # extras/webcam
}
PUBLISHED = ("HTTP_PORT", "HTTPS_PORT", "SWF_PORT", "POLICY_FILE_PORT", "LOCUST_PORT")  # without an extra
FTP_PASSIVE_PORTS = (22, 29)
NETWORKS = ("edge", "load", "back")
PAGE_PORT = 20080  # of the class's page: copy 0 would have it
SUBNETS = IPv4Network("10.213.0.0/18")  # in none of the ranges of Docker and of most routers
# 30 addresses for each network: five services and, if the learner wants them, extras and theatres.
NETWORK_PREFIX, COPY_PREFIX = 27, 25


class PlanError(ValueError):
    """A class that cannot be opened like this; the message says why, and what to type."""


def count(number: int, one: str, several: str = "") -> str:
    """A number and its noun: `1 copy`, `2 copies`; without `several`, the noun and an s."""
    return f"{number} {one if number == 1 else several or one + 's'}"


def parse_number(variable: str, text: str, most: int = MOST, such: int = 7) -> int:
    """Parse a number: that of a copy, or of all copies. Raise PlanError if it is not one."""
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= most):
        expected = f"expected a number from 1 to {most}, such as {variable}={such}"
        raise PlanError(f"{variable} is '{text}'; {expected}")
    return int(text)


def parse_ports(text: str) -> int:
    """Parse CLASS_PORTS, the first of the class's ports. Raise PlanError if it is not a port."""
    if not (text.isascii() and text.isdigit() and 1000 <= int(text) <= 65000 and int(text) % BLOCK == 0):
        raise PlanError(
            f"CLASS_PORTS is '{text}'; expected a multiple of 100: with 20000, copy 7 has 20700 to 20799"
        )
    return int(text)


def parse_subnets(text: str) -> IPv4Network:
    """Parse CLASS_SUBNETS, the range of the class's networks. Raise PlanError if it is not an IPv4 range."""
    try:
        return IPv4Network(text)
    except ValueError as error:
        raise PlanError(f"CLASS_SUBNETS: {error}; expected a range such as 10.213.0.0/18") from None


def parse_cpus(text: str) -> float:
    """Parse CLASS_CPUS: how many cores one service may use. Raise PlanError if it is not a number."""
    try:
        cpus = float(text)
    except ValueError:
        cpus = 0
    if not 0.1 <= cpus <= 64:
        raise PlanError(f"CLASS_CPUS is '{text}'; expected cores for each service, such as 0.5")
    return cpus


@dataclass(frozen=True)
class Plan:
    """What all copies of a class have in common."""

    project: str  # the beginning of the copies' project names
    ports: int = 20000
    subnets: IPv4Network = SUBNETS
    cpus: float = 0.5

    def copy(self, number: int) -> "Copy":
        """The copy with this number, from 1. Raise PlanError if no ports or addresses are left for it."""
        if self.ports + BLOCK * number + BLOCK > 65536:
            raise PlanError(f"Copy {number} would need ports above 65535: choose a lower CLASS_PORTS")
        if number >= self.subnets.num_addresses // 2 ** (32 - COPY_PREFIX):
            raise PlanError(
                f"{self.subnets} has no addresses left for copy {number}: each takes 128, and the first 128 "
                "stay free. Choose a larger CLASS_SUBNETS"
            )
        return Copy(number, self)


@dataclass(frozen=True)
class Copy:
    """One copy of the stack."""

    number: int
    plan: Plan

    @property
    def name(self) -> str:
        """Its number with two digits, which is also the name of its folder."""
        return f"{self.number:02}"

    @property
    def project(self) -> str:
        """Its Compose project."""
        return f"{self.plan.project}-class-{self.name}"

    def port(self, variable: str) -> int:
        """One of PORTS."""
        return self.plan.ports + BLOCK * self.number + PORTS[variable]

    @property
    def port_settings(self) -> dict[str, str]:
        """All of its ports, as settings of .env."""
        first, last = (self.plan.ports + BLOCK * self.number + port for port in FTP_PASSIVE_PORTS)
        return {**{name: str(self.port(name)) for name in PORTS}, "FTP_PASSIVE_PORTS": f"{first}-{last}"}

    @property
    def subnets(self) -> dict[str, IPv4Network]:
        """A subnet for each of NETWORKS."""
        start = int(self.plan.subnets.network_address) + self.number * 2 ** (32 - COPY_PREFIX)
        mine = IPv4Network((start, COPY_PREFIX)).subnets(new_prefix=NETWORK_PREFIX)
        return dict(zip(NETWORKS, mine, strict=False))


def overlapping(copies: list[Copy], routes: list[IPv4Network]) -> Iterator[tuple[IPv4Network, IPv4Network]]:
    """Each subnet of the copies that a route of this machine already reaches, with that route."""
    planned = [subnet for copy in copies for subnet in copy.subnets.values()]
    for route in routes:
        for subnet in planned:
            if route.prefixlen and subnet.overlaps(route):
                yield subnet, route


def parse_routes(table: str) -> list[IPv4Network]:
    """The destinations in a text like /proc/net/route: hexadecimal, in the machine's byte order."""
    rows = [line.split() for line in table.splitlines()[1:]]
    return [
        IPv4Network((int.from_bytes(bytes.fromhex(row[1]), "little"), int(row[7], 16).bit_count()))
        for row in rows
    ]
