"""Spoken lines and webcam pictures, which a browser requests while it is on a stage."""

import time
from collections import Counter
from urllib.parse import parse_qs, urlsplit

import gevent
import pytest

from fake_site import CAMERA, FakeSite
from fake_stage import STILL
from locust_library import run, until
from locustfile import Audience, FlashClient, Player
from users import browser, live_media
from users.live_media import LiveMedia
from users.player_session import PlayerSession

STAYS = ("--audience=stays", "--chat-rate=0", "--player=ann", "--password=sesame")


class Requests:
    """Takes requests; each is under way for `seconds`, then succeeds or not."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.succeed = True
        self.begun: list[str] = []
        self.ended = 0

    def __call__(self, path: str) -> bool:
        self.begun.append(path)
        gevent.sleep(self.seconds)
        self.ended += 1
        return self.succeed


def wave(number: int) -> tuple[str, dict[str, str]]:
    """The frame of a spoken line."""
    return "WAVE", {"url": f"/speech/utter-{number}.mp3"}


LOAD_CAMERA = "LOAD_AV", {"ID": "1", "medium": "video", "url": CAMERA, "thumbnail": STILL}


def test_a_line_is_requested_as_soon_as_it_is_announced() -> None:
    requests = Requests()
    media = LiveMedia(requests)
    media.received(*wave(1))
    media.received(*wave(2))
    until(lambda: requests.ended == 2)
    assert requests.begun == ["/speech/utter-1.mp3", "/speech/utter-2.mp3"]


@pytest.mark.parametrize(
    ("mode", "fields"),
    [
        ("WAVE", {"url": "http://elsewhere.example/speech/utter-1.mp3"}),
        ("WAVE", {}),
        ("LOAD_AV", {"ID": "1", "medium": "", "url": "/media/fox.svg", "thumbnail": ""}),
        ("LOAD_AV", {"medium": "video", "url": "//a.example/a.jpg", "thumbnail": "http://b.example/"}),
        ("LOAD_AV", {"medium": "video"}),
        ("MUSIC", {"url": "/media/audio/bell.mp3"}),
    ],
)
def test_other_frames_cause_no_request(mode: str, fields: dict[str, str]) -> None:
    requests = Requests()
    LiveMedia(requests).received(mode, fields)
    gevent.sleep(0.05)
    assert not requests.begun


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the intervals."""
    monkeypatch.setattr(live_media, "EVERY", 0.15)
    monkeypatch.setattr(live_media, "PAUSE", 0.05)


def test_a_webcam_is_polled_by_one_viewer_with_new_urls(quick: None) -> None:
    requests = Requests()
    media = LiveMedia(requests)
    began = time.monotonic()
    media.received(*LOAD_CAMERA)
    until(lambda: len(requests.begun) == 6)
    assert time.monotonic() - began > 4 * 0.15
    media.stop()
    assert requests.begun.pop(0) == STILL
    asked = [parse_qs(urlsplit(url).query) for url in requests.begun]
    assert {urlsplit(url).path for url in requests.begun} == {CAMERA}
    assert len({each["s"][0] for each in asked}) == 1
    assert len({each["u"][0] for each in asked}) == 5
    polls = len(requests.begun)
    gevent.sleep(0.3)
    assert len(requests.begun) == polls


def test_the_time_that_a_response_was_held_counts_but_for_the_pause(
    quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        gevent.sleep(seconds)

    monkeypatch.setattr(live_media, "sleep", sleep)
    requests = Requests()
    requests.seconds = 0.3
    media = LiveMedia(requests)
    media.received(*LOAD_CAMERA)
    until(lambda: len(requests.begun) == 4)
    media.stop()
    assert pauses == [0.05, 0.05]


def test_a_camera_without_pictures_is_given_up(quick: None) -> None:
    requests = Requests()
    requests.succeed = False
    media = LiveMedia(requests)
    media.received(*LOAD_CAMERA)
    until(lambda: len(requests.begun) == 11)  # ten pictures and the still
    gevent.sleep(0.15 * 4)
    assert len(requests.begun) == 11


@pytest.fixture
def talkative(monkeypatch: pytest.MonkeyPatch) -> None:
    """Players pause a fifth of the time."""
    at_leisure = PlayerSession.actions
    monkeypatch.setattr(PlayerSession, "actions", lambda self: (pause / 5 for pause in at_leisure(self)))


def test_every_browser_on_the_stage_fetches_each_spoken_line_once(site: FakeSite, talkative: None) -> None:
    site.cached.update(site.pages)  # the fake cache cannot let requests wait for one fetch
    rows = {"stage join": 5, "/speech/*.mp3": 12}
    result = run(site, Player, Audience, FlashClient, users=6, arguments=STAYS, until_rows=rows)
    assert not result.failed
    lines = Counter({path: count for path, count in site.asked.items() if path.startswith("/speech/")})
    browsers = 6 - result.requests["policy policy"]
    assert len(lines) >= 3
    assert max(lines.values()) == browsers


def test_a_held_response_is_waited_for(
    site: FakeSite, talkative: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser, "PATIENCE", 1.0)
    site.stage.camera = CAMERA
    site.holds = {CAMERA: 2.0, "/speech/utter-1.mp3": 2.0}
    rows = {"poll /media/video/*.jpg": 2, "/speech/*.mp3": 1}
    result = run(site, Player, users=1, arguments=STAYS, until_rows=rows)
    assert not result.failed
    assert result.averages["poll /media/video/*.jpg"] >= 2000


@pytest.mark.parametrize("cache_status", ["", "varnish; fwd=bypass; detail=pass"])
def test_webcam_pictures_have_a_row_of_their_own(site: FakeSite, quick: None, cache_status: str) -> None:
    site.stage.camera = CAMERA
    site.pages[CAMERA].headers["cache-status"] = cache_status
    rows = {"poll /media/video/*.jpg": 20, "/media/video-still/*.jpg": 3}
    result = run(site, Audience, users=3, arguments=STAYS, until_rows=rows)
    assert not result.failed
    assert "/media/video/*.jpg" not in result.requests
    assert not site.revalidated[CAMERA]
