"""Several Varnishes: each file has its place on one of them, and only the files of a lost one move."""

import re
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from nginx.tests.name_server import NameServer
from nginx.tests.nginx_server import UPGRADED, NginxServer
from tests.support.http import message
from tests.support.origin import Origin, Request, response
from tests.support.wait import wait_until

FILES = [f"/media/{number}.png" for number in range(300)]


class Ring(NginxServer):
    """nginx in front of several Varnishes."""

    def __init__(self, varnishes: list[Origin], **settings: str) -> None:
        self.varnishes = varnishes
        addresses = " ".join(varnish.address for varnish in varnishes)
        super().__init__(VARNISH_ADDRESS=addresses, CONNECT_TIMEOUT="300ms", **settings)
        self.origins += varnishes

    def places(self, files: list[str] = FILES) -> dict[str, str]:
        """Return the Varnish that answers for each file; require that no request fails."""
        responses = {file: self.request(file, port=self.load) for file in files}
        assert {each.status for each in responses.values()} == {200}
        return {file: got.text for file, got in responses.items()}


@pytest.fixture(scope="module")
def ring() -> Iterator[Ring]:
    with Ring([Origin(f"varnish-{number}") for number in (1, 2, 3)]) as server:
        server.start()
        yield server


def test_each_varnish_has_its_share_and_a_file_stays(ring: Ring) -> None:
    places = ring.places()
    assert places == ring.places()
    shares = [list(places.values()).count(varnish.name) for varnish in ring.varnishes]
    assert min(shares) >= 0.2 * len(FILES), shares


def test_connections_are_kept(ring: Ring) -> None:
    ring.places()
    assert sum(varnish.connections for varnish in ring.varnishes) < len(FILES) / 2


def test_a_varnish_more_takes_its_share_from_the_others_and_costs_no_held_connection() -> None:
    """A reload applies a new list; WebSockets and stage sockets stay with the old workers."""
    with Ring([Origin("varnish-1"), Origin("varnish-2")]) as growing:
        growing.start()
        before = growing.places()
        growing.backend.respond = lambda _: UPGRADED
        with (
            growing.connect(growing.stage) as stage,
            growing.connect() as web,
        ):
            web.sendall(message("/ws", upgrade="websocket", connection="Upgrade"))
            assert b" 101 " in web.recv(4096)
            third = Origin("varnish-3")
            growing.origins.append(third)
            growing.settings["VARNISH_ADDRESS"] += f" {third.address}"
            assert growing.run_script("reload.sh").returncode == 0
            wait_until(lambda: "varnish-3" in growing.places(FILES[:30]).values())
            moved = {file: place for file, place in growing.places().items() if place != before[file]}
            assert set(moved.values()) == {"varnish-3"}
            assert 0.2 < len(moved) / len(FILES) < 0.5
            for held in (stage, web):
                held.sendall(b"still here")
                heard = b""
                while b"STILL HERE" not in heard:
                    heard += held.recv(4096)


def test_slow_pages_cost_no_file_its_varnish(ring: Ring) -> None:
    """Each Varnish gets more slow pages than nginx waits for, and none counts as lost."""
    before = ring.places(FILES[:40])

    def respond(request: Request) -> bytes:
        if request.target.startswith("/slow"):
            time.sleep(5)
        return response(before.get(request.target, ""))

    ring.backend.delay = 5
    for varnish in ring.varnishes:
        varnish.forget()
        varnish.respond = respond
    with ThreadPoolExecutor(12) as pool:
        slow = [pool.submit(ring.request, f"/slow/{number}", port=ring.load) for number in range(12)]
        while not all(page.done() for page in slow):
            ring.places(FILES[:40])
    assert {page.result().status for page in slow} == {503}
    asked = [target for varnish in ring.varnishes for target in varnish.targets]
    assert sum(target.startswith("/slow") for target in asked) == 2 * len(slow)  # not once through each
    for varnish in ring.varnishes:
        files = {target for target in varnish.targets if not target.startswith("/slow")}
        assert files == {file for file, place in before.items() if place == varnish.name}


def test_a_lost_varnish_moves_its_own_files_only(ring: Ring) -> None:
    before = ring.places()
    ring.varnishes[1].close()
    moved = {file for file, place in ring.places().items() if place != before[file]}
    assert moved == {file for file, place in before.items() if place == "varnish-2"}
    ring.varnishes[1].listen()
    assert ring.places() == before


def test_a_varnish_that_may_not_ask_the_backend_is_passed_over(ring: Ring) -> None:
    before = ring.places(FILES[:40])
    cut_off, others = ring.varnishes[0], {"varnish-2", "varnish-3"}
    cut_off.respond = lambda _: response("curtain", "502 Bad Gateway")
    for varnish in ring.varnishes[1:]:
        varnish.respond = lambda _, name=varnish.name: response(name)
    found = ring.places(FILES[:40])
    assert {found[file] for file, place in before.items() if place == cut_off.name} <= others
    ring.varnishes[1].respond = ring.varnishes[2].respond = cut_off.respond
    got = ring.request("/", port=ring.load)
    assert (got.status, got.text) == (502, "curtain")


def test_a_stuck_varnish_costs_its_files_two_seconds(ring: Ring) -> None:
    before = ring.places()
    ring.varnishes[0].delay = 10
    file = next(file for file, place in before.items() if place == "varnish-1")
    began = time.monotonic()
    assert ring.request(file, port=ring.load).text != "varnish-1"
    assert time.monotonic() - began > 1.5


def test_one_port_of_several_hosts(ring: Ring) -> None:
    assert ring.render(VARNISH_ADDRESS="192.0.2.1 192.0.2.2:8080").returncode == 0
    written = (ring.generated / "upstreams" / "http.conf").read_text()
    assert re.findall("server (192.*) max", written) == ["192.0.2.1:8080", "192.0.2.2:8080"]


def nginx_version() -> tuple[int, ...]:
    said = subprocess.run(["nginx", "-v"], capture_output=True, text=True, check=True).stderr
    return tuple(map(int, re.findall(r"\d+", said)[:3]))


FOLLOWS_NAMES = nginx_version() >= (1, 27, 3)


@pytest.mark.skipif(FOLLOWS_NAMES, reason="this nginx follows names by itself")
def test_an_older_nginx_starts_without_a_name_that_is_unknown() -> None:
    with Ring([Origin("varnish")]) as ring:
        ring.settings["VARNISH_ADDRESS"] = f"localhost:{ring.varnishes[0].port} nowhere.invalid:8080"
        ring.start()
        assert set(ring.places(FILES[:30]).values()) == {"varnish"}
        written = (ring.generated / "upstreams" / "http.conf").read_text()
    assert "# localhost: 127.0.0.1\n" in written
    assert "# nowhere.invalid: unknown\n" in written


@pytest.mark.skipif(not FOLLOWS_NAMES, reason="an older nginx knows the names of its last reload")
def test_names_keep_their_files_when_their_addresses_change(name_server: NameServer) -> None:
    """varnish-2 is unknown at first, comes, leaves and returns: it gets the same files, without a reload."""
    names = [f"varnish-{number}.test" for number in (1, 2, 3)]
    with Ring([Origin(name) for name in names]) as ring:
        ports = [varnish.port for varnish in ring.varnishes]
        addresses = (f"{name}:{port}" for name, port in zip(names, ports, strict=True))
        ring.settings |= {"VARNISH_ADDRESS": " ".join(addresses), "NAME_SERVERS": name_server.address}
        here = dict.fromkeys(names, "127.0.0.1")
        name_server.names = {name: here[name] for name in names if name != names[1]}
        ring.start()
        wait_until(lambda: ring.request(FILES[0], port=ring.load).status == 200)
        without = ring.places()
        assert set(without.values()) == {names[0], names[2]}
        workers = ring.workers()
        for away in ("127.0.0.9", "127.0.0.8"):  # no server listens there
            name_server.names = dict(here)
            wait_until(lambda: names[1] in ring.places().values())
            places = ring.places()
            assert {place for file, place in places.items() if place != without[file]} == {names[1]}
            name_server.names = here | {names[1]: away}
            wait_until(lambda: ring.places() == without)
        assert ring.workers() == workers
