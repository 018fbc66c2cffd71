"""lesson.js in a real browser: it copies commands, and brings the panel up to date on the reader's return."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from backend.tests.running_backend import Backend
from tests.support.chromium import listen

LESSON = "/lessons/01-first-hit"
WORDS = ("k00000001", "k00000002")
COMMANDS = 'curl -sI "http://localhost:8080/media/fox.svg?{0}"\n' * 2
COMMANDS += 'curl -sI "http://localhost:8080/admin/id?{0}"\n' * 2
LATER = 2000  # ms: more than lesson.js leaves between two questions


@pytest.fixture
def page(browser: Browser, school: Backend, complaints: list[str]) -> Iterator[Page]:
    """Yield the page of the first lesson, which has begun; require that the console shows no error."""
    report(school, state="begun", word=WORDS[0])
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    listen(page, complaints)
    page.clock.install()
    page.goto(address(school))
    yield page
    context.close()
    assert complaints == []


def address(school: Backend, path: str = LESSON) -> str:
    return f"http://localhost:{school.web_port}{path}"


def report(school: Backend, **result: object) -> None:
    """Send the backend a result of the first lesson, as `make check` does."""
    assert school.upstage("lessons", stdin=json.dumps([{"lesson": 1, **result}])) == (0, "", "")


def come_back(page: Page, event: str = "dispatchEvent(new Event('focus'))") -> None:
    """Return to the window after some time."""
    page.clock.run_for(LATER)
    page.evaluate(event)


def pasted(page: Page) -> str:
    """Return the text on the clipboard, by pasting it into a field."""
    page.evaluate("document.body.append(Object.assign(document.createElement('textarea'), {id: 'paste'}))")
    field = page.locator("#paste")
    field.press("Control+v")
    return field.input_value()


@pytest.mark.parametrize("secure", [True, False])
def test_a_button_copies_the_commands_beside_it(page: Page, secure: bool) -> None:
    """The keyboard works, too, and so does a browser without Clipboard API: on another host without TLS."""
    page.evaluate("navigator.clipboard.writeText('of another test')")
    if not secure:
        page.add_init_script("delete Navigator.prototype.clipboard")
        page.reload()
    button = page.locator(".commands", has_text="fox.svg").first.get_by_role("button")
    button.press("Enter")
    expect(button).to_have_text("Copied")
    expect(page.get_by_role("status")).to_have_text("Copied")
    page.clock.run_for(LATER)
    expect(button).to_have_text("Copy")
    assert pasted(page) == COMMANDS.format(WORDS[0]).rstrip()


def test_commands_have_a_button_and_other_blocks_have_none(page: Page, school: Backend) -> None:
    page.goto(address(school, "/lessons/03-whose-page-is-it"))
    page.get_by_text("Hint").click()
    expect(page.locator("pre", has_text="sub vcl_req_cookie")).to_be_visible()
    assert page.locator("pre").count() == page.get_by_role("button", name="Copy").count() + 1


@pytest.mark.parametrize(
    "event", ["dispatchEvent(new Event('focus'))", "document.dispatchEvent(new Event('visibilitychange'))"]
)
def test_coming_back_brings_panel_and_words_up_to_date(page: Page, school: Backend, event: str) -> None:
    report(school, state="begun", word=WORDS[1], said="Not done yet.", choices=list("wxyz"))
    come_back(page, event)
    panel = page.get_by_role("complementary", name="Where you are")
    expect(panel).to_contain_text("Not done yet.")
    expect(panel.get_by_role("button", name="Copy")).to_have_count(4)  # one for each answer
    expect(page.get_by_role("status")).to_have_text("This lesson has begun. Not done yet.")
    assert page.locator(".text .word").all_inner_texts() == [WORDS[1]] * page.locator(".text .word").count()
    report(school, state="")  # as after a new start of the stack
    come_back(page, event)
    expect(panel).to_contain_text("has not begun")
    expect(page.locator(".text .word").first).to_have_text("WORD")


def test_a_return_is_one_request_and_nothing_asks_by_itself(page: Page) -> None:
    requests: list[str] = []  # except the one for the icon
    page.on("request", lambda request: requests.append(request.url) if LESSON in request.url else None)
    page.clock.run_for(3_600_000)
    page.evaluate("0")
    assert requests == []
    with page.expect_response("**" + LESSON):
        come_back(page, "dispatchEvent(new Event('focus'))")
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.evaluate("0")
    assert len(requests) == 1


def test_an_unchanged_panel_keeps_the_focus_and_a_new_one_takes_it(page: Page, school: Backend) -> None:
    button = page.locator("#where").get_by_role("button", name="Copy")
    button.focus()
    with page.expect_response("**" + LESSON):
        come_back(page)
    expect(button).to_be_focused()
    report(school, state="done", word=WORDS[0])
    come_back(page)
    expect(page.locator("#where")).to_contain_text("is done")
    expect(page.locator("#where")).to_be_focused()


def test_a_stack_that_is_down_leaves_the_page_as_it_is(page: Page, complaints: list[str]) -> None:
    page.route("**" + LESSON, lambda route: route.fulfill(status=503, body="down"))
    with page.expect_response("**" + LESSON):
        come_back(page)
    page.evaluate("0")  # all effects of the answer have happened
    expect(page.locator("#where")).to_contain_text(WORDS[0])
    assert all("503" in complaint for complaint in complaints)
    complaints.clear()
