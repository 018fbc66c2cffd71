"""nginx's datagrams: each is counted once; no other datagram is counted."""

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import choose_encoder

from extras.observe.exporter.requests import MAX_ROWS, Requests

ID = b"6a05b1a18a71752b342d7240ec65bac5"
HIT = b"<190>Nov 23 21:44:00 nginx: upstage.localhost media 200 identified varnish:hit 0.003 1234 " + ID
SESSION = b"<190>Nov  3 21:44:00 nginx: 3000 200"


class Counted:
    """The counters, and their registry in the form that Prometheus reads."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Requests(self.registry)

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, labels)

    @property
    def rejected(self) -> float | None:
        return self.value("nginx_log_lines_rejected_total")


@pytest.fixture
def counted() -> Counted:
    return Counted()


def test_a_request_and_a_session(counted: Counted) -> None:
    for _ in range(2):
        counted.requests.count(HIT)
        counted.requests.count(SESSION)
    labels = {"site": "upstage.localhost", "kind": "media"}
    row = {**labels, "status": "200", "visitor": "identified", "tier": "varnish", "outcome": "hit"}
    assert counted.value("nginx_requests_total", **row) == 2
    assert counted.value("nginx_request_seconds_count", **labels) == 2
    assert counted.value("nginx_request_seconds_sum", **labels) == pytest.approx(0.006)
    bounds = {
        bound: counted.value("nginx_request_seconds_bucket", **labels, le=bound)
        for bound in ("0.0025", "0.005")
    }
    assert bounds == {"0.0025": 0, "0.005": 2}
    assert counted.value("nginx_sent_bytes_total", site="upstage.localhost") == 2468
    assert counted.value("nginx_sessions_total", port="3000", status="200") == 2
    assert counted.rejected == 0


@pytest.mark.parametrize(
    "datagram",
    [
        b"",
        b"\n",
        b"\x00\xff" * 200,
        HIT + b" more",
        HIT + b"\n" + HIT,
        HIT.replace(b"0.003", b"nan"),
        HIT.replace(b"0.003", b"-1.000"),
        HIT.replace(b"0.003", b"1e9"),
        HIT.replace(b"1234", b"9" * 400),
        HIT.replace(b"6a05", b'"}{"'),
        HIT.replace(b"media", b'media"} 1\nup{'),
        HIT.replace(b"upstage.localhost", b"a" * 65),
        HIT.replace(b"hit", b"hit:hit"),
        HIT.replace(b"200", b"\xd9\xa1\xd9\xa2\xd9\xa3"),  # digits, but not ASCII
        SESSION + b" 0.1",
        b"<190>Nov 23 21:44:00 other: x",
    ],
)
def test_anything_else_is_rejected(counted: Counted, datagram: bytes) -> None:
    before = generate_latest(counted.registry).replace(b"rejected_total 0.0", b"rejected_total 1.0")
    counted.requests.count(datagram)
    assert generate_latest(counted.registry) == before


def test_a_slow_request_is_named(counted: Counted) -> None:
    counted.requests.count(HIT)
    counted.requests.count(HIT.replace(b"0.003", b"0.300"))
    openmetrics, _ = choose_encoder("application/openmetrics-text")
    [named] = [line for line in openmetrics(counted.registry).splitlines() if b" # " in line]
    assert b'le="0.5",site="upstage.localhost"} 2.0 # {request_id="%s"} 0.3 ' % ID in named


def test_the_rows_are_bounded_and_the_known_ones_go_on(counted: Counted) -> None:
    counted.requests.count(HIT)
    for number in range(MAX_ROWS + 10):
        counted.requests.count(HIT.replace(b"upstage.localhost", b"%d.example" % number))
    counted.requests.count(SESSION)
    assert counted.rejected == 12
    sites = [
        line
        for line in generate_latest(counted.registry).splitlines()
        if line.startswith(b"nginx_sent_bytes_total")
    ]
    assert len(sites) == MAX_ROWS
    counted.requests.count(HIT)
    assert counted.value("nginx_sent_bytes_total", site="upstage.localhost") == 2468
