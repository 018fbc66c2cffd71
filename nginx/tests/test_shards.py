"""nginx on one of several machines, with a Varnish on each: every URL belongs to one of the Varnishes."""

import socket
import time
from collections.abc import Iterator

import pytest
from ring import Ring

from nginx_server import NginxServer
from support.origin import Origin
from support.wait import wait_until

PATHS = [f"/media/{number}.png" for number in range(200)]


@pytest.fixture(scope="module")
def shards() -> Iterator[dict[str, Origin]]:
    """Three Varnishes, by their addresses."""
    origins = [Origin(f"varnish-{number}") for number in (1, 2, 3)]
    yield {origin.address: origin for origin in origins}
    for origin in origins:
        origin.close()


@pytest.fixture(scope="module")
def server(shards: dict[str, Origin]) -> Iterator[NginxServer]:
    addresses = " ".join(shards)
    with NginxServer(
        VARNISH_ADDRESS=addresses, CONNECT_TIMEOUT="300ms", NODE="node-2", MEDIA_FOLDER="none"
    ) as server:
        server.start()
        yield server


def chosen(server: NginxServer) -> dict[str, str]:
    """The Varnish that answers for each path."""
    return {path: server.request(path, port=server.load).text for path in PATHS}  # no limits


def test_each_url_belongs_to_one_of_them(server: NginxServer, shards: dict[str, Origin]) -> None:
    ring = Ring(shards)
    expected = {path: shards[ring.server(f"localhost{path}")].name for path in PATHS}
    assert chosen(server) == chosen(server) == expected
    assert len(set(expected.values())) == 3


def test_neither_the_query_nor_the_spelling_chooses_another(server: NginxServer) -> None:
    for path in PATHS[:20]:
        assert server.request(f"{path}?utm_source=x").text == server.request(path).text
        assert server.request(path.replace("media", "%6dedia")).text == server.request(path).text


def test_another_key_is_another_way_to_choose(server: NginxServer, shards: dict[str, Origin]) -> None:
    try:
        assert server.run_script("reload.sh", SHARD_KEY="$request_id").returncode == 0
        found = [server.request(PATHS[0], port=server.load).text for _ in range(60)]
        assert set(found) == {origin.name for origin in shards.values()}
    finally:
        assert server.run_script("reload.sh").returncode == 0


def test_only_the_urls_of_a_lost_one_move(server: NginxServer, shards: dict[str, Origin]) -> None:
    before = chosen(server)
    lost = next(iter(shards.values()))
    lost.close()
    during = chosen(server)
    assert {path for path in PATHS if before[path] != during[path]} == {
        path for path in PATHS if before[path] == lost.name
    }
    assert lost.name not in during.values()
    lost.listen()
    wait_until(lambda: chosen(server) == before, within=10)  # nginx tries it again after fail_timeout


def test_a_new_list_moves_no_url_but_those_of_the_new_one(
    server: NginxServer, shards: dict[str, Origin]
) -> None:
    before = chosen(server)
    fourth = Origin("varnish-4")
    try:
        addresses = " ".join([*shards, fourth.address])
        assert server.run_script("reload.sh", VARNISH_ADDRESS=addresses).returncode == 0
        after = chosen(server)
        moved = {path for path in PATHS if before[path] != after[path]}
        assert {after[path] for path in moved} == {"varnish-4"}
        assert 20 < len(moved) < 80
        assert server.run_script("reload.sh").returncode == 0
        assert chosen(server) == before
    finally:
        fourth.close()


def test_a_cut_cable_costs_a_fraction_of_a_second(server: NginxServer) -> None:
    """A machine that is gone answers no packet; nor does a listener whose queue is full."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as silent:
        address = silent.getsockname()
        waiting = [socket.socket() for _ in range(3)]
        for connection in waiting:
            connection.setblocking(False)
            connection.connect_ex(address)
        other = Origin("other")
        try:
            addresses = f"127.0.0.1:{address[1]} {other.address}"
            assert server.run_script("reload.sh", VARNISH_ADDRESS=addresses).returncode == 0
            started = time.monotonic()
            assert {server.request(path).text for path in PATHS[:10]} == {"other"}
            assert time.monotonic() - started < 1.5
        finally:
            other.close()
            for connection in waiting:
                connection.close()
            assert server.run_script("reload.sh").returncode == 0


def test_a_page_never_waits_for_one_that_hangs(server: NginxServer, shards: dict[str, Origin]) -> None:
    """After two seconds the next one on the ring is asked."""
    path = PATHS[0]
    owner = shards[Ring(shards).server(f"localhost{path}")]
    owner.delay = 5
    try:
        assert server.request(path).text != owner.name
    finally:
        owner.delay = 0


def test_cache_status_names_the_node(server: NginxServer) -> None:
    assert server.request("/a.png").headers["cache-status"] == "nginx; fwd=uri-miss; node=node-2"
    rejected = server.exchange(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n\r\n")
    assert rejected.headers["cache-status"] == "nginx; detail=synth; node=node-2"


def test_without_the_media_volume_varnish_sends_large_media(
    server: NginxServer, shards: dict[str, Origin]
) -> None:
    server.request("/media/large.swf")
    for shard in shards.values():
        assert all("x-accel-media" not in request.headers for request in shard.requests)


def test_without_the_media_volume_the_static_site_says_so(server: NginxServer) -> None:
    for path in ("/media/fox.svg", "/"):
        answer = server.request(path, "static.localhost")
        assert (answer.status, "has none" in answer.text) == (421, True)
        assert answer.headers["content-type"] == "text/plain"
    assert server.backend.requests == []
