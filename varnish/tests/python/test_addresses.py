"""The seam: backends over Unix sockets and TCP, the mirror and the second UpStage."""

import re
import time
from collections.abc import Iterator

import pytest

from support.wait import wait_until
from varnish_server import VARNISH, Backend, VarnishServer


@pytest.fixture
def mirror(fresh: VarnishServer) -> Iterator[Backend]:
    mirror = Backend("mirror", fresh.folder / "mirror.sock")
    yield mirror
    mirror.close()


@pytest.fixture
def second(fresh: VarnishServer) -> Iterator[Backend]:
    second = Backend("second")
    yield second
    second.close()


def test_a_backend_over_tcp_is_reached_by_its_host_name(fresh: VarnishServer, second: Backend) -> None:
    fresh.settings["BACKEND_ADDRESS"] = f"localhost:{second.port}"
    fresh.start()
    for host in ("upstage.localhost", "classic.localhost"):
        assert fresh.request("/", host).text == "second"
    assert fresh.backend.requests == []


def test_an_optional_backend_is_left_out_until_its_address_is_set(
    fresh: VarnishServer, second: Backend
) -> None:
    fresh.start()
    assert (fresh.generated / "extras.vcl").read_text() == 'include "handover.vcl";\n'
    assert fresh.request("/", "second.localhost").text == "backend"
    assert fresh.run_script("reload.sh", SECOND_ADDRESS=second.address).returncode == 0
    assert fresh.request("/", "Second.localhost:8080").text == "second"
    assert fresh.request("/").text == "backend"


def test_the_mirror_takes_over_and_gives_back(fresh: VarnishServer, mirror: Backend) -> None:
    fresh.settings["MIRROR_ADDRESS"] = mirror.address
    fresh.start()
    assert fresh.request("/").text == "backend"

    fresh.backend.close()
    bodies = set()

    def sick() -> bool:
        bodies.add(fresh.request("/").text)
        return bool(re.search(r"\bupstage\b.*sick", fresh.cli("backend.list")))

    wait_until(sick, within=7)  # before the probe has noticed, the second attempt is the mirror's
    bodies.add(fresh.request("/").text)
    assert bodies == {"mirror"}
    assert fresh.request("/", method="POST").text == "mirror"  # which is never repeated

    fresh.backend.listen()
    started = time.monotonic()
    wait_until(lambda: fresh.request("/").text == "backend", within=10)
    assert time.monotonic() - started <= 8


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("BACKEND_ADDRESS", "backend"),
        ("BACKEND_ADDRESS", '/run/x"; }'),
        ("MIRROR_ADDRESS", "unix:mirror.sock"),
        ("SECOND_ADDRESS", "second:80a"),
        ("VARNISH_LISTEN", "8080"),
        ("VARNISH_LISTEN_SOCKET", "varnish.sock"),
    ],
)
def test_a_wrong_setting_is_one_line(fresh: VarnishServer, setting: str, value: str) -> None:
    for script in ("start.sh", "reload.sh"):
        ended = fresh.run_script(script, **{setting: value})
        assert ended.returncode == 1
        assert re.fullmatch(rf"{setting} must be .*, not '{re.escape(value)}'\n", ended.stdout)
    assert not fresh.generated.exists()


def test_the_readme_has_every_setting_with_its_default() -> None:
    table = (VARNISH.parent / "nginx" / "README.md").read_text()
    documented = dict(re.findall(r"^\| `(\w+)` \| (?:`(\S+)`)? *\|", table, re.M))
    settings = (VARNISH / "settings.sh").read_text()
    defaults = dict(re.findall(r"^\w+=\$\{(\w+):-(.*?)}", settings, re.M))
    assert len(defaults) == 10
    assert {name: documented[name] for name in defaults} == defaults
