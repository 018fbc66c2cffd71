"""The seam: backends over Unix sockets and TCP, and the second UpStage."""

import re
from collections.abc import Iterator

import pytest

from varnish_server import VARNISH, Backend, VarnishServer


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


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("BACKEND_ADDRESS", "backend"),
        ("BACKEND_ADDRESS", '/run/x"; }'),
        ("SECOND_ADDRESS", "unix:second.sock"),
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
    assert len(defaults) == 9
    assert {name: documented[name] for name in defaults} == defaults
