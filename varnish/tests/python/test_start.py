"""start.sh: listeners, the secret, storage and varnishd's parameters."""

import re
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.program import PATH
from tests.support.wait import wait_until
from varnish.tests.python.varnish_server import VarnishServer


def test_the_unix_socket_is_nginx_s_and_every_user_may_connect(server: VarnishServer) -> None:
    assert stat.S_IMODE(server.socket.stat().st_mode) == 0o666
    first = server.request("/media/a.svg", address=server.socket)
    assert (first.status, first.text) == (200, "backend")
    second = server.request("/media/a.svg", address=server.socket)
    assert second.headers["x-accel-expires"].startswith("@")
    assert "x-accel-expires" not in server.request("/media/a.svg").headers


def test_purging_is_for_a_listener_of_its_own(server: VarnishServer) -> None:
    server.request("/media/purged.svg")
    assert server.request("/media/purged.svg", method="PURGE").status == 405
    purge = ("127.0.0.1", server.purge_port)
    assert server.request("/media/purged.svg", method="PURGE", address=purge).status == 200
    assert "fwd=uri-miss" in server.request("/media/purged.svg").headers["cache-status"]


def test_the_secret_is_made_at_the_start_for_its_owner_only(server: VarnishServer) -> None:
    secret = server.generated / "secret"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert len(secret.read_bytes()) > 32
    assert server.cli("ping").startswith("PONG")


def test_the_storage_is_what_the_setting_says(server: VarnishServer) -> None:
    assert re.search(r"s0\s*=\s*file", server.cli("storage.list"))
    assert (server.folder / "cache.bin").stat().st_size == 16 * 1024 * 1024


def test_a_cache_full_of_small_objects_makes_room_for_a_large_one(server: VarnishServer) -> None:
    """Evicting 50 objects, Varnish's default nuke_limit, is not enough: the response would be cut off."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: server.request(f"/media/size-100?{number}"), range(3000)))
    assert server.counter("MAIN.n_lru_nuked") > 0
    for number in range(3):
        response = server.request(f"/media/size-6000000?{number}")
        assert (response.status, len(response.body)) == (200, 6_000_000)


def test_a_response_without_a_lifetime_is_not_stored(server: VarnishServer) -> None:
    server.backend.cache_control = ""
    for _ in range(2):
        assert server.request("/silent").headers["cache-status"].startswith("varnish; fwd=")
    assert server.backend.targets == ["/silent"] * 2


def test_eighty_headers_are_accepted(server: VarnishServer) -> None:
    assert server.request("/", address=None, **{f"x-{number}": "x" for number in range(80)}).status == 200


def test_a_url_of_more_than_4096_bytes_is_rejected(server: VarnishServer) -> None:
    assert server.request("/" + "x" * 4095).status == 200
    response = server.request("/" + "x" * 4096)
    assert response.status == 414
    assert response.headers["cache-status"] == "varnish; detail=synth"


def test_a_crowd_is_one_request_to_the_backend(server: VarnishServer) -> None:
    """200 clients at once wait for an object that is not cached yet; 200 others get an expired copy."""
    server.backend.cache_control = "s-maxage=60"
    server.backend.go.clear()
    before = server.counter("MAIN.busy_sleep")
    with ThreadPoolExecutor(200) as pool:
        first = [pool.submit(server.request, "/crowd") for _ in range(200)]
        # Nearly all: a worker that finds the counters locked adds its own with its next request.
        wait_until(lambda: server.counter("MAIN.busy_sleep") - before > 150)
        server.backend.go.set()
        assert {response.result().text for response in first} == {"backend"}
        assert server.backend.targets == ["/crowd"]
        server.backend.cache_control = "s-maxage=1"
        server.request("/old")
        server.backend.go.clear()
        time.sleep(1.5)
        second = [pool.submit(server.request, "/old") for _ in range(200)]
        said = {response.result().headers["cache-status"].split("; ")[-1] for response in second}
    assert said == {"detail=stale"}
    wait_until(lambda: server.backend.targets == ["/crowd", "/old", "/old"])


def test_a_second_start_ends_and_changes_nothing(server: VarnishServer) -> None:
    """The second start is like that of another container with the same volumes, and other ports."""
    ports = dict.fromkeys(("VARNISH_LISTEN", "VARNISH_LISTEN_PURGE", "VARNISH_LISTEN_CLI"), "127.0.0.1:0")

    def files() -> dict[Path, tuple[int, int]]:
        places = [server.socket, *server.generated.iterdir()]
        return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in places}

    before = files()
    second = server.run_script("start.sh", **ports)
    assert (second.returncode, second.stdout.count("\n")) == (1, 1)
    assert second.stdout.startswith("Another Varnish of this stack is running")
    assert files() == before
    assert server.request("/", address=server.socket).status == 200


def test_a_start_replaces_what_a_killed_varnishd_has_left(fresh: VarnishServer) -> None:
    fresh.start()
    assert fresh.program
    fresh.program.kill()
    wait_until(lambda: not fresh.answers())  # its child ends by itself
    assert fresh.socket.exists()
    fresh.start()
    assert fresh.request("/", address=fresh.socket).status == 200


@pytest.mark.parametrize(("most", "warns"), [(2000, True), (6000, False)])
def test_the_limit_of_open_files_is_raised(
    fresh: VarnishServer, tmp_path: Path, most: int, warns: bool
) -> None:
    program = tmp_path / "varnishd"
    program.write_text("#!/bin/sh\nulimit -Sn >&2\n")
    program.chmod(0o755)
    limits = f'ulimit -Sn 1024; ulimit -Hn {most}; exec sh "$0"'
    start = fresh.run("sh", "-c", limits, fresh.scripts / "start.sh", PATH=f"{tmp_path}:{PATH}")
    assert start.stdout.splitlines()[-1] == str(most)
    assert ("Varnish may open only 2000 files" in start.stdout) == warns
