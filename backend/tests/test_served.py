"""served.js finds out from Server-Timing which server sent a file, and its time, in a real browser."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Page

from forked import SRC
from support.chromium import chromium

SCRIPT = SRC / "upstage/site/script/served.js"
ASK = """
    async ([module, serverTiming, transferSize]) => {
        const { served } = await import(module);
        const entry = { name: "http://x/media/fox.svg", transferSize, decodedBodySize: 90, serverTiming };
        const { station, server } = served(entry);
        return [station, server];
    }
"""
ANSWERED = """
    async ([module, text]) => {
        const { answered } = await import(module);
        const { station, server } = answered(new Headers(text === null ? {} : { "Server-Timing": text }));
        return [station, server];
    }
"""


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with chromium() as browser:
        yield browser.new_page()


@pytest.mark.parametrize(
    ("said", "station"),
    [
        ({"varnish": "hit", "nginx": "hit"}, "nginx"),  # nginx's copy has Varnish's earlier outcome
        ({"varnish": "miss", "nginx": "hit"}, "nginx"),
        ({"nginx": "self"}, "nginx"),
        ({"varnish": "hit", "nginx": "miss"}, "varnish"),
        ({"varnish": "hit", "nginx": "expired"}, "varnish"),
        ({"varnish": "stale", "nginx": "pass"}, "varnish"),
        ({"varnish": "synth", "nginx": "pass"}, "varnish"),
        ({"varnish": "error", "nginx": "miss"}, "varnish"),
        ({"varnish": "miss", "nginx": "miss"}, "upstage"),
        ({"varnish": "hit-for-miss", "nginx": "miss"}, "upstage"),
        ({"varnish": "pass", "nginx": "pass"}, "upstage"),
        ({"nginx": "pass"}, "upstage"),
        ({}, "upstage"),
    ],
)
def test_server_timing_tells_which_server_sent_a_file(page: Page, said: dict[str, str], station: str) -> None:
    module = "data:text/javascript," + quote(SCRIPT.read_text())
    timing = [{"name": name, "description": text, "duration": 7} for name, text in said.items()]
    server = 7 if "nginx" in said else None  # no other server says how long it took
    assert page.evaluate(ASK, [module, timing, 100]) == [station, server]
    assert page.evaluate(ASK, [module, timing, 0]) == ["browser", None]  # nothing came over the network


@pytest.mark.parametrize(
    ("header", "station", "server"),
    [
        ('varnish;desc="miss", nginx;desc="miss";dur=303', "upstage", 303),
        ('varnish;desc="hit", nginx;desc="expired";dur=0', "varnish", 0),
        ('varnish;desc="hit-for-miss", nginx;desc="hit";dur=1', "nginx", 1),
        ('nginx;desc="self";dur=2', "nginx", 2),
        (None, "upstage", None),
    ],
)
def test_a_header_tells_the_same(page: Page, header: str | None, station: str, server: int | None) -> None:
    module = "data:text/javascript," + quote(SCRIPT.read_text())
    assert page.evaluate(ANSWERED, [module, header]) == [station, server]
