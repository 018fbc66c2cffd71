"""What `start.sh` makes of the files: sockets, a secret, profiles, room for a crowd."""

import re
import stat
import time
from concurrent.futures import ThreadPoolExecutor

from playhouse import Backend, Playhouse, wait_for


def test_the_unix_socket_is_for_nginx_and_everybody_may_connect(house: Playhouse) -> None:
    assert stat.S_IMODE((house.sockets / "varnish.sock").stat().st_mode) == 0o666
    first = house.get_unix("/media/a.svg")
    assert first.status == 200
    assert first.body == "backend"
    assert house.get_unix("/media/a.svg").headers["X-Accel-Expires"].startswith("@")
    assert "X-Accel-Expires" not in house.get("/media/a.svg").headers


def test_the_secret_is_made_here_and_nobody_else_reads_it(house: Playhouse) -> None:
    secret = house.base / "generated" / "secret"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert len(secret.read_bytes()) > 32
    assert not list(house.folder.glob("*secret*"))
    assert house.cli("ping").startswith("PONG")


def test_the_storage_is_what_was_asked_for(house: Playhouse) -> None:
    assert re.search(r"s0\s*=\s*file", house.cli("storage.list"))
    assert (house.base / "cache.bin").stat().st_size == 16 * 1024 * 1024


def test_a_cache_full_of_small_objects_makes_room_for_a_large_one(house: Playhouse) -> None:
    """What 50 of them leave behind, Varnish's default nuke_limit, is not enough: the answer would be cut."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: house.get(f"/media/size-100?{number}"), range(3000)))
    assert int(house.stat("MAIN.n_lru_nuked")) > 0
    for number in range(3):
        answer = house.get(f"/media/size-6000000?{number}")
        assert (answer.status, len(answer.body)) == (200, 6_000_000)


def test_an_answer_that_does_not_say_how_long_it_is_good_is_not_kept(house: Playhouse) -> None:
    house.backend.cache_control = ""
    try:
        for _ in range(2):
            assert house.get("/silent").headers["Cache-Status"].startswith("varnish; fwd=")
    finally:
        house.backend.cache_control = "no-store"
    assert house.backend.asked.count("/silent") == 2


def test_eighty_headers_are_no_reason_to_refuse(house: Playhouse) -> None:
    assert house.get("/", {f"X-{number}": "x" for number in range(80)}).status == 200


def test_a_url_has_an_end(house: Playhouse) -> None:
    assert house.get("/" + "x" * 4095).status == 200
    answer = house.get("/" + "x" * 4096)
    assert answer.status == 414
    assert answer.headers["Cache-Status"] == "varnish; detail=synth"


def test_without_a_profile_nothing_is_added(house: Playhouse) -> None:
    assert (house.base / "generated" / "profiles.vcl").read_text() == 'include "handover.vcl";\n'
    assert house.get("/", {"Host": "second.localhost"}).body == "backend"


def test_classic_is_another_vcl_on_the_same_listener(house: Playhouse) -> None:
    for host in ("classic.localhost", "upstage.localhost"):
        house.get("/media/reload.svg", {"Host": host})
    reload = {"Cache-Control": "no-cache"}
    refreshed = house.get("/media/reload.svg", {"Host": "classic.localhost"} | reload)
    assert refreshed.headers["Cache-Status"].startswith("varnish; fwd=uri-miss; stored")
    ignored = house.get("/media/reload.svg", {"Host": "upstage.localhost"} | reload)
    assert ignored.headers["Cache-Status"].startswith("varnish; hit")


def test_a_crowd_is_one_request_to_the_backend(house: Playhouse) -> None:
    """200 at once: for an object that is not there yet, for an expired one, for one that expired long ago."""
    house.backend.cache_control, house.backend.delay = "s-maxage=1", 2.0
    crowd = 200

    def visit(_: int) -> tuple[str, str, float]:
        start = time.monotonic()
        answer = house.get("/crowd")
        return answer.body, answer.headers["Cache-Status"], time.monotonic() - start

    try:
        with ThreadPoolExecutor(crowd) as pool:
            first = list(pool.map(visit, range(crowd)))
            assert house.backend.asked.count("/crowd") == 1
            time.sleep(1.5)
            second = list(pool.map(visit, range(crowd)))
            wait_for(lambda: house.backend.asked.count("/crowd") == 2, 3)
            time.sleep(14)  # the fetch, its second of life, and the 10 s for which an old copy may be shown
            third = list(pool.map(visit, range(crowd)))
            assert house.backend.asked.count("/crowd") == 3
    finally:
        house.backend.cache_control, house.backend.delay = "no-store", 0.0
    for body, _, seconds in first + third:
        assert body == "backend"
        assert seconds < 5  # the backend's 2 s, and what a small machine takes for 200 threads
    assert {status.split("; ")[-1] for _, status, _ in second} == {"detail=stale"}
    assert max(seconds for _, _, seconds in second) < 2


def test_the_mirror_stands_in_and_the_second_has_its_own_host(house: Playhouse) -> None:
    mirror, second = Backend(house.sockets / "mirror.sock"), Backend(house.sockets / "second.sock")
    mirror.start()
    second.start()
    try:
        assert house.reload().returncode == 0
        assert house.get("/").body == "backend"
        assert house.get("/", {"Host": "Second.localhost:8080"}).body == "second"

        house.backend.die()
        bodies = set()
        for _ in range(70):  # 7 s: before the probe has noticed, and after
            bodies.add(house.get("/").body)
            time.sleep(0.1)
        assert bodies == {"mirror"}
        assert house.get("/", method="POST").body == "mirror"  # which nobody would ask twice
        assert re.search(r"\bupstage\b.*sick", house.cli("backend.list"))
        assert house.get("/", {"Host": "second.localhost"}).body == "second"

        house.backend.start()
        assert wait_for(lambda: house.get("/").body == "backend", 10) <= 8
    finally:
        mirror.die()
        second.die()
        for gone in (mirror, second):
            gone.socket.unlink()
        house.reload()
