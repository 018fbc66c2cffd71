"""served.js finds out from Server-Timing which server sent a file, and its time, in a real browser."""

from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page

from backend.tests.forked import SRC

SCRIPT = SRC / "upstage/site/script/served.js"
# Returns the answers for a file that was loaded, one from the browser's cache, and a response's header.
ASK = """
    async ([module, serverTiming]) => {
        const { served, answered } = await import(module);
        const entry = { name: "http://x/fox.svg", transferSize: 100, decodedBodySize: 90, serverTiming };
        const header = serverTiming.map(({ name, description, duration }) =>
            `${name};desc="${description}"` + (name === "nginx" ? `;dur=${duration}` : "")).join(", ");
        const found = [served(entry), served({ ...entry, transferSize: 0 }),
            answered(new Headers(header ? { "Server-Timing": header } : {}))];
        return found.map(({ station, server }) => [station, server]);
    }
"""


@pytest.fixture(scope="module")
def page(browser: Browser) -> Page:
    return browser.new_page()


@pytest.mark.parametrize(
    ("said", "station"),
    [
        ({"nginx": "hit"}, "nginx"),
        ({"nginx": "stale"}, "nginx"),
        ({"nginx": "disk", "varnish": "hit"}, "nginx"),
        ({"nginx": "synth"}, "nginx"),
        ({"nginx": "error"}, "nginx"),
        ({"varnish": "hit", "nginx": "miss"}, "varnish"),
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
    server = 7 if "nginx" in said else None  # only nginx reports a time
    sent, here = [station, server], ["browser", None]  # nothing came over the network
    assert page.evaluate(ASK, [module, timing]) == [sent, here, sent]
