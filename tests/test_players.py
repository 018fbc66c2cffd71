"""Two players and an audience on one stage, each in a browser: every client shows what a player does."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from tests.browsing import PICTURES, Visit, on_stage, point, say, sign_in, standing_at, wider
from tests.stack import Stack

AVATARS = 5  # of the demo stage: four figures, and the camera of extras/webcam
PLAYERS = {"amy": "break a leg, amy", "bob": "break a leg, bob"}
HARLEQUIN, DIVA = '.avatar[data-id="1"]', '.avatar[data-id="3"]'
Enter = Callable[[str], Page]

# Records in the page each sound that has been played to its end, because sounds are not in the document.
LISTEN = """
const play = HTMLMediaElement.prototype.play;
HTMLMediaElement.prototype.play = function () {
  this.addEventListener("ended", () => (document.documentElement.dataset.heard = this.currentSrc));
  return play.call(this);
};
"""
# The number of painted pixels of a drawing layer.
PAINTED = """canvas => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data
    .filter((value, place) => place % 4 === 3 && value > 0).length"""


@pytest.fixture(scope="module", autouse=True)
def players(browser: Browser, stack: Stack) -> None:
    """Create the players in the workshop."""
    page = browser.new_page()
    sign_in(page, stack.url("/admin/"), "admin", stack.admin_password)
    for name, password in PLAYERS.items():
        page.goto(stack.url("/admin/workshop/players"))
        form = page.locator("form", has=page.locator("button[value=add]"))
        form.locator("input[name=name]").fill(name)
        form.locator("input[name=password]").fill(password)
        form.locator("button[value=add]").click()
        expect(page.locator("b", has_text=name)).to_be_visible()
    page.close()


@pytest.fixture
def enter(visit: Visit, stack: Stack) -> Enter:
    """Return a function: enter("amy") opens the stage with amy signed in, enter("") as audience."""

    def open_stage(name: str) -> Page:
        page = visit("/robots.txt")
        page.add_init_script(LISTEN)
        if name:
            sign_in(page, stack.url("/admin/"), name, PLAYERS[name])
        page.goto(stack.url("/stages/demo"))
        return on_stage(page)

    return open_stage


def take(page: Page, name: str) -> None:
    """Take the avatar with this name, and wait until it is this player's."""
    page.locator("#avatar-tray .thing", has_text=name).click()
    expect(page.locator(".avatar.mine")).to_be_visible()


def drag(page: Page, x: float, y: float) -> None:
    """Drag the player's avatar and drop its feet at a point."""
    box = page.locator(".avatar.mine > img").first.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"])
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 3)
    page.mouse.down()
    page.mouse.move(*point(page, x, y), steps=4)
    page.mouse.up()


def draw_a_roof(page: Page) -> None:
    """Draw a line of three points on the third layer."""
    page.locator("#tab-draw").click()
    page.locator("#draw").click()
    page.mouse.move(*point(page, 60, 80))
    page.mouse.down()
    page.mouse.move(*point(page, 160, 30), steps=12)
    page.mouse.move(*point(page, 260, 80), steps=12)
    page.mouse.up()
    page.locator("#draw").click()


def test_a_scene(stack: Stack, enter: Enter, complaints: list[str]) -> None:
    amy, bob, visitor = enter("amy"), enter("bob"), enter("")
    pages = (amy, bob, visitor)
    expect(visitor.locator("#player-tools")).to_be_hidden()
    visitor.locator("#sound-switch").click()

    take(amy, "Harlequin")
    take(bob, "Diva")
    held = bob.locator("#avatar-tray .thing", has_text="Harlequin")
    expect(held).to_have_attribute("aria-disabled", "true")

    bob.mouse.click(*point(bob, 190, 150))  # the point is near, so she walks
    for page in pages:
        expect(page.locator(f"{DIVA}.walking")).to_be_visible()
    for page in pages:
        expect(page.locator(DIVA)).to_have_attribute("style", re.compile("--x: 190"))
        expect(page.locator(f"{DIVA}.walking")).to_have_count(0)
    drag(amy, 60, 120)
    place = amy.locator(HARLEQUIN)
    expect(place).not_to_have_attribute("style", standing_at(44, 176))
    for page in pages:
        expect(page.locator(HARLEQUIN)).to_have_attribute("style", place.get_attribute("style") or "")

    amy.locator("#tab-props").click()
    amy.locator("#prop-tray .thing", has_text="Lantern").click()
    bob.locator("#tab-backdrops").click()
    bob.locator("#backdrop-tray .thing", has_text="Harbour").click()
    for page in pages:
        expect(page.locator(f"{HARLEQUIN} .prop[alt=Lantern]")).to_be_visible()
        expect(page.locator(".backdrop[alt='Harbour at dusk']")).to_be_visible()
        expect(page.locator(".backdrop:visible")).to_have_count(1)

    say(amy, "Good <b>evening</b> & more")  # no line is sent as markup
    say(bob, ":who is that")
    for page in pages:
        expect(page.locator(f"{HARLEQUIN} .bubble.speech")).to_have_text("Good <b>evening</b> & more")
        expect(page.locator(f"{DIVA} .bubble.thought")).to_have_text("who is that")
    say(bob, "!who is that")
    for page in pages:
        expect(page.locator(f"{DIVA} .bubble.shout")).to_have_text("WHO IS THAT")
    expect(visitor.locator("html")).to_have_attribute("data-heard", re.compile("/speech/utter-.*mp3"))

    draw_a_roof(amy)
    amy.locator("#tab-calls").click()
    amy.locator("#ask-applause").click()
    visitor.locator("#applaud").click()
    for page in pages:
        expect(page.locator("#audience-row.clapping")).to_be_visible()
    say(amy, "/nick The Clown")
    for page in pages:
        expect(page.locator(f"{HARLEQUIN} .name")).to_have_text("The Clown")
    visitor.screenshot(path=PICTURES / f"scene-{stack.mode}.png")
    amy.screenshot(path=PICTURES / f"player-{stack.mode}.png")

    # A client that joins late sees the same stage.
    late = enter("")
    layers = [page.locator("canvas.layer").nth(2) for page in (*pages, late)]
    pictures = {layer.evaluate("canvas => canvas.toDataURL()") for layer in layers}
    assert len(pictures) == 1, "the drawing is not the same for all"
    assert layers[-1].evaluate(PAINTED) > 1000
    for avatar in (HARLEQUIN, DIVA):
        style = visitor.locator(avatar).get_attribute("style") or ""
        expect(late.locator(avatar)).to_have_attribute("style", style)
    expect(late.locator(f"{HARLEQUIN} .name")).to_have_text("The Clown")
    expect(late.locator(f"{HARLEQUIN} .prop[alt=Lantern]")).to_be_visible()
    expect(late.locator(".backdrop[alt='Harbour at dusk']")).to_be_visible()
    expect(late.locator("#chat-log .shout").last).to_contain_text("WHO IS THAT")
    expect(late.locator("#applaud")).to_be_visible()
    late.screenshot(path=PICTURES / f"late-{stack.mode}.png")

    amy.set_viewport_size({"width": 390, "height": 844})
    assert wider(amy) <= 0
    amy.screenshot(path=PICTURES / f"player-{stack.mode}-390.png")
    assert complaints == []


def test_acting_with_the_keyboard_alone(enter: Enter, complaints: list[str]) -> None:
    """Take an avatar, walk, draw and speak without a pointer."""
    amy, visitor = enter("amy"), enter("")

    def tab_to(selector: str) -> None:
        for _ in range(60):
            if amy.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
            amy.keyboard.press("Tab")
        raise AssertionError(f"Tab never reaches {selector}")

    tab_to("#tab-avatars")
    tab_to('#avatar-tray .thing[data-id="1"]')
    amy.keyboard.press("Enter")
    expect(amy.locator(".avatar.mine")).to_be_visible()
    before = visitor.locator(HARLEQUIN).get_attribute("style") or ""
    tab_to(".avatar.mine")
    for _ in range(3):
        amy.keyboard.press("ArrowRight")
    expect(visitor.locator(HARLEQUIN)).not_to_have_attribute("style", before)

    tab_to("#tab-avatars")
    for _ in range(3):
        amy.keyboard.press("ArrowRight")
    expect(amy.locator("#tab-draw")).to_be_focused()
    tab_to("#draw-clear")
    amy.keyboard.press("Enter")
    layer = visitor.locator("canvas.layer").nth(2)
    tab_to("#draw")
    amy.keyboard.press("Enter")
    expect(amy.locator("#stage")).to_be_focused()
    for key in (" ", *["ArrowDown"] * 5, " "):
        amy.keyboard.press(key)
    tab_to("#chat-input")
    amy.keyboard.type("!done")
    amy.keyboard.press("Enter")
    expect(visitor.locator(f"{HARLEQUIN} .bubble.shout")).to_have_text("DONE")
    assert layer.evaluate(PAINTED) > 500  # frames come in order: the line was before the shout

    tab_to("#served-switch")
    amy.keyboard.press("Enter")
    expect(amy.locator("#served-panel")).to_be_visible()
    amy.keyboard.press("Escape")
    expect(amy.locator("#served-panel")).to_be_hidden()
    assert complaints == []


def test_house_lights_shows_which_server_answered(stack: Stack, visit: Visit, complaints: list[str]) -> None:
    on_stage(visit("/stages/demo"))
    page = on_stage(visit("/stages/demo"))  # by now everything is in a cache
    page.locator("#served-switch").click()
    fox = page.locator("#served-rows tr", has_text="/media/fox.svg")
    expect(fox.locator(".by")).to_have_text(re.compile("Varnish|nginx"))
    key = page.locator("#served-rows tr", has_text="/admin/id")
    expect(key.locator(".by")).to_have_text("UpStage")
    expect(key).to_contain_text("pass")
    expect(page.locator("#served-summary")).to_contain_text(
        re.compile(r"nginx and Varnish answered [1-9]\d+ from memory")
    )
    page.locator("[data-sort=file]").click()
    names = page.locator("#served-rows th").all_inner_texts()
    assert names == sorted(names, key=str.lower)
    page.screenshot(path=PICTURES / f"served-{stack.mode}.png")
    assert complaints == []


def test_a_second_session_of_a_player_ends_the_first(enter: Enter, visit: Visit) -> None:
    first = enter("amy")
    second = first.context.new_page()
    second.goto(first.url)
    on_stage(second)
    expect(first.locator("#connection-status")).to_have_attribute("data-state", "closed")
    expect(first.locator("#come-back")).to_be_visible()


def test_a_line_waits_until_it_is_heard(enter: Enter) -> None:
    """A waiting line is marked; and a line that a broken connection has lost is in the field again."""
    connections: list[WebSocketRoute] = []
    held: list[str | bytes] = []
    hold = False

    def pass_on(connection: WebSocketRoute) -> None:
        server = connection.connect_to_server()
        connection.on_message(lambda message: held.append(message) if hold else server.send(message))
        connections[:] = [connection, server]

    visitor = enter("")
    visitor.route_web_socket("**/ws", pass_on)
    visitor.reload()
    on_stage(visitor)
    status, waiting = visitor.locator("#connection-status"), visitor.locator("#chat-log .waiting")
    hold = True
    say(visitor, "Are   you there?")
    expect(waiting).to_have_text("Are   you there?")
    expect(status).to_have_text("The stage does not answer")
    visitor.screenshot(path=PICTURES / "waiting.png")
    connections[1].send(held.pop())
    expect(visitor.locator("#chat-log .audience").last).to_have_text("Are you there?")
    expect(waiting).to_have_count(0)
    expect(status).to_have_text("Connected")

    say(visitor, "you there?")  # a part of the line that was heard
    hold = False
    connections[0].close()
    expect(visitor.locator("#chat-input")).to_have_value("you there?", timeout=15_000)
    expect(waiting).to_have_count(0)


def test_a_player_whose_connection_broke(enter: Enter) -> None:
    """The page joins again with a new key and takes its avatar back."""
    connections: list[WebSocketRoute] = []

    def pass_on(connection: WebSocketRoute) -> None:
        connection.connect_to_server()
        connections.append(connection)

    amy, visitor = enter("amy"), enter("")
    amy.route_web_socket("**/ws", pass_on)
    amy.reload()
    on_stage(amy)
    take(amy, "Captain")
    with amy.expect_request("**/admin/id"):
        connections[-1].close()
    expect(amy.locator("#connection-status")).to_have_attribute("data-state", "connected")
    on_stage(amy)
    expect(amy.locator(".avatar.mine .name")).to_have_text("The Captain")
    expect(amy.locator(".avatar[data-id]")).to_have_count(AVATARS)
    expect(amy.locator("canvas.layer")).to_have_count(4)
    say(amy, "I tripped.")
    expect(visitor.locator('.avatar[data-id="2"] .bubble')).to_have_text("I tripped.")
