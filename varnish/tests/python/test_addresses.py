"""The addresses: backends over Unix sockets and TCP, and the theatres."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.wait import wait_until
from varnish.tests.python.varnish_server import Backend, VarnishServer


@pytest.fixture
def theatres(fresh: VarnishServer) -> dict[str, Backend]:
    fresh.settings["THEATRES_ADDRESS"] = f"unix:{fresh.folder}/*.sock"
    theatres = {name: Backend(name, fresh.folder / f"{name}.sock") for name in ("second", "third-hall")}
    fresh.origins += theatres.values()
    return theatres


def test_a_backend_over_tcp_is_reached_by_its_host_name(fresh: VarnishServer, app: Backend) -> None:
    fresh.settings["BACKEND_ADDRESS"] = f"localhost:{app.port}"
    fresh.start()
    for host in ("upstage.localhost", "classic.localhost"):
        assert fresh.request("/", host).text == "app"
    assert fresh.backend.requests == []


def test_an_optional_backend_is_left_out_until_it_is_named(
    fresh: VarnishServer, theatres: dict[str, Backend]
) -> None:
    fresh.start()
    assert (fresh.generated / "deployment.vcl").read_text() == 'include "handover.vcl";\n'
    assert fresh.request("/", "second.localhost").text == "backend"
    assert fresh.run_script("reload.sh", THEATRES="second").returncode == 0
    assert fresh.request("/", "third-hall.localhost").text == "backend"
    assert fresh.run_script("reload.sh", THEATRES="second third-hall").returncode == 0
    for host in ("Second.localhost:8080", "second", "second.stage.example"):
        assert fresh.request("/", host).text == "second"
    assert fresh.request("/", "third-hall.localhost").text == "third-hall"
    for host in ("localhost", "third.localhost", "a.second.localhost", "second-hall.localhost"):
        assert fresh.request("/", host).text == "backend"


def test_theatres_share_the_cache_but_no_object(fresh: VarnishServer, theatres: dict[str, Backend]) -> None:
    fresh.settings["THEATRES"] = "second third-hall"
    fresh.start()
    hosts = {"localhost": "backend", "second.localhost": "second", "third-hall.localhost": "third-hall"}
    for outcome in ("fwd=uri-miss; stored", "hit"):
        for host, name in hosts.items():
            response = fresh.request("/media/a.svg", host)
            assert response.text == name
            assert response.headers["cache-status"].startswith(f"varnish; {outcome}")


def test_varnish_starts_and_runs_without_a_theatre(
    fresh: VarnishServer, theatres: dict[str, Backend]
) -> None:
    """A theatre that is down does not affect the others; it is asked again when it is back."""
    theatres["second"].close()
    (fresh.folder / "second.sock").unlink(missing_ok=True)
    fresh.settings["THEATRES"] = "second third-hall"
    fresh.start()
    assert fresh.request("/", "second.localhost").status == 503
    assert fresh.request("/", "third-hall.localhost").text == "third-hall"
    assert fresh.request("/").text == "backend"
    theatres["second"].listen()
    wait_until(lambda: fresh.request("/", "second.localhost").text == "second")


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("HOSTS", '*"; }'),
        ("BACKEND_ADDRESS", '/run/x"; }'),
        ("THEATRES", "second;third"),
        ("APP_RECIPE", "shopware"),
    ],
)
def test_a_wrong_setting_is_one_line(fresh: VarnishServer, setting: str, value: str) -> None:
    for script in ("start.sh", "reload.sh"):
        ended = fresh.run_script(script, **{setting: value})
        assert ended.returncode == 1
        assert re.fullmatch(rf"{setting} must be .*, not '{re.escape(value)}'\n", ended.stdout)
    assert not fresh.generated.exists()


def test_theatres_that_hang_leave_threads_for_the_others(
    fresh: VarnishServer, theatres: dict[str, Backend]
) -> None:
    """200 clients of each theatre wait for a page; another host's page comes before a health check fails."""
    fresh.settings["THEATRES"] = "second third-hall"
    fresh.start()
    for theatre in theatres.values():
        theatre.go.clear()
    with ThreadPoolExecutor(400) as pool:
        for number in range(400):
            host = ("second.localhost", "third-hall.localhost")[number % 2]
            pool.submit(fresh.request, f"/page-{number}", host)
        wait_until(lambda: min(len(theatre.requests) for theatre in theatres.values()) == 50, within=30)
        assert fresh.request("/page").text == "backend"
        for theatre in theatres.values():
            theatre.go.set()
