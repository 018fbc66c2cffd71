"""Spoken lines and webcam pictures, which a browser requests while it is on a stage."""

from collections import Counter
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import gevent
import pytest
from gevent.event import Event

from loadtest.tests.fake_site import CAMERA, FakeSite
from loadtest.tests.fake_stage import STILL
from loadtest.tests.locust_library import run, until
from locustfile import Audience, FlashClient, Player
from users import live_media
from users.live_media import EVERY, MOST_FAILURES, PAUSE, LiveMedia
from users.player_session import PlayerSession


class Requests:
    """Takes requests; each lasts some seconds by a fake clock, then succeeds or fails.

    `pauses` are the pauses between pictures. They take no time, except the fifth, which `go_on` ends.
    """

    def __init__(self, patch: pytest.MonkeyPatch, seconds: float = 0.0, succeed: bool = True) -> None:
        self.now, self.seconds, self.succeed = 0.0, seconds, succeed
        self.begun: list[str] = []
        self.pauses: list[float] = []
        self.go_on = Event()
        patch.setattr(live_media, "time", SimpleNamespace(monotonic=lambda: self.now))
        patch.setattr(live_media, "sleep", self.sleep)

    def __call__(self, path: str) -> bool:
        self.begun.append(path)
        self.now += self.seconds
        return self.succeed

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        if len(self.pauses) == 5:
            self.go_on.wait()


@pytest.mark.parametrize(
    ("mode", "fields", "asked"),
    [
        ("WAVE", {"url": "/speech/utter-1.mp3"}, ["/speech/utter-1.mp3"]),
        ("WAVE", {"url": "http://elsewhere.example/speech/utter-1.mp3"}, []),
        ("WAVE", {}, []),
        ("LOAD_AV", {"ID": "1", "medium": "video", "thumbnail": STILL}, [STILL]),
        ("LOAD_AV", {"ID": "1", "medium": "", "url": "/media/fox.svg", "thumbnail": ""}, []),
        ("LOAD_AV", {"medium": "video", "url": "//a.example/a.jpg", "thumbnail": "http://b.example/"}, []),
        ("LOAD_AV", {"medium": "video"}, []),
        ("MUSIC", {"url": "/media/audio/bell.mp3"}, []),
    ],
)
def test_the_frames_that_name_media_cause_a_request(
    monkeypatch: pytest.MonkeyPatch, mode: str, fields: dict[str, str], asked: list[str]
) -> None:
    made = Requests(monkeypatch)
    LiveMedia(made).received(mode, fields)
    gevent.sleep(0)
    assert made.begun == asked


LOAD_CAMERA = "LOAD_AV", {"ID": "1", "medium": "video", "url": CAMERA, "thumbnail": STILL}


@pytest.mark.parametrize(("held", "pause"), [(0.0, EVERY), (0.5, EVERY - 0.5), (30.0, PAUSE)])
def test_a_webcam_is_polled_by_one_viewer_with_new_urls_and_a_pause_after_each_response(
    monkeypatch: pytest.MonkeyPatch, held: float, pause: float
) -> None:
    made = Requests(monkeypatch, held)
    media = LiveMedia(made)
    media.received(*LOAD_CAMERA)
    until(lambda: len(made.pauses) == 5)
    assert made.pauses == [pause] * 5
    media.stop()
    made.go_on.set()
    gevent.sleep(0)
    still, *pictures = made.begun
    assert still == STILL
    asked = [parse_qs(urlsplit(url).query) for url in pictures]
    assert [urlsplit(url).path for url in pictures] == [CAMERA] * 5
    assert len({each["s"][0] for each in asked}) == 1
    assert len({each["u"][0] for each in asked}) == 5


def test_a_camera_without_pictures_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Requests(monkeypatch, succeed=False)
    made.go_on.set()
    LiveMedia(made).received(*LOAD_CAMERA)
    until(lambda: len(made.pauses) == MOST_FAILURES)
    gevent.sleep(0)
    assert made.pauses == [EVERY] * MOST_FAILURES
    assert len(made.begun) == 1 + MOST_FAILURES  # the still, too


def test_every_browser_on_the_stage_fetches_each_spoken_line_once(
    site: FakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_leisure = PlayerSession.actions
    monkeypatch.setattr(PlayerSession, "actions", lambda self: (pause / 5 for pause in at_leisure(self)))
    site.cached.update(site.pages)  # the fake cache cannot let requests wait for one fetch
    options = ("--audience=stays", "--chat-rate=0", "--player=ann", "--password=sesame")
    rows = {"stage join": 5, "/speech/*.mp3": 12}
    result = run(site, Player, Audience, FlashClient, users=6, arguments=options, until_rows=rows)
    assert not result.failed
    lines = Counter({path: count for path, count in site.asked.items() if path.startswith("/speech/")})
    browsers = 6 - result.requests["policy policy"]
    assert len(lines) >= 3
    assert max(lines.values()) == browsers
