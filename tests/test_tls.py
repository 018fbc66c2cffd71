"""HTTPS on the published port. (Names, versions, ciphers and sessions: nginx/tests/test_tls.py.)"""

from playwright.sync_api import Browser, expect

from tests.browsing import on_stage
from tests.stack import Stack


def test_the_stage_works_over_https(stack: Stack, browser: Browser) -> None:
    context = browser.new_context(ignore_https_errors=True)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.goto(f"https://localhost:{stack.ports['HTTPS_PORT']}/stages/demo")
    on_stage(page)
    protocol = page.evaluate("performance.getEntriesByType('navigation')[0].nextHopProtocol")
    assert protocol == "h2"
    page.goto(f"https://localhost:{stack.ports['HTTPS_PORT']}/")
    command = f"curl -kI https://localhost:{stack.ports['HTTPS_PORT']}/media/bench/small.swf"
    expect(page.locator("[data-origin]")).to_have_text(f"{command}\n{command}")
    assert complaints == []
    context.close()
