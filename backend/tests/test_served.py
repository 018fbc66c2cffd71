"""served.js finds out from Server-Timing which server sent a file, in a real browser."""

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
        return served(entry).station;
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
    timing = [{"name": name, "description": text} for name, text in said.items()]
    assert page.evaluate(ASK, [module, timing, 100]) == station
    assert page.evaluate(ASK, [module, timing, 0]) == "browser"  # nothing came over the network
