"""Speech with the real programs, behind the real URL."""

import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from forked import Forked
from running_backend import make_site
from support.http import request
from support.wait import wait_until
from upstage.media import speech
from upstage.media.voices import VOICES

SERVER = """
import json, sys
from pathlib import Path
from twisted.internet import reactor
from upstage.media import speech
from upstage.media.speech import Speaker
from upstage.media.voices import VOICES
from upstage.web.templates import Pages
from upstage.net.slices import Slices
from upstage.web.request import Node, Site
from upstage.web import speech as speech_page
from upstage.web.speech import SpeechFolder
site, folder, path, limit = sys.argv[1:]
speech.TIME_LIMIT = float(limit)
speech_page.MAX_WAITING = 2
folder = Path(folder)
folder.mkdir(exist_ok=True)
speaker = Speaker(folder, reactor, path=path or None)
speaker.startService()
pages = Pages(Path(site))
root = Node(pages)
root.putChild(b"speech", SpeechFolder(pages, speaker))
port = reactor.listenTCP(0, Site(root, pages, Slices(reactor)), interface="127.0.0.1")
urls = {voice: speaker.speak(voice, "Good evening") for voice in VOICES}
reactor.callWhenRunning(lambda: print(json.dumps([port.getHost().port, urls]), flush=True))
reactor.addSystemEventTrigger("before", "shutdown", speaker.stopService)
reactor.run()
"""


class RealSpeaker:
    """A process that records one line in every voice."""

    def __init__(self, folder: Path, path: str = "", limit: float = 15) -> None:
        site = make_site(folder / "site")
        self.folder = folder / "speech"
        command = ["-c", SERVER, str(site), str(self.folder), path, str(limit)]
        self.process = Forked(command, os.environ, folder / "stdout", folder / "stderr")
        line = wait_until((folder / "stdout").read_text, every=0.02)
        self.port, self.urls = json.loads(line)

    def get(self, path: str, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
        answer = request(("127.0.0.1", self.port), path, method=method)
        return answer.status, answer.headers, answer.body

    def stop(self) -> None:
        self.process.terminate()
        assert self.process.wait(10) == 0


@pytest.fixture
def real(tmp_path: Path) -> Iterator[RealSpeaker]:
    if not all(map(shutil.which, speech.PROGRAMS)):
        pytest.skip("espeak-ng and lame are not installed here")
    speaker = RealSpeaker(tmp_path)
    yield speaker
    speaker.stop()


def test_every_voice_is_really_recorded(real: RealSpeaker) -> None:
    sounds = {}
    for voice, url in real.urls.items():
        status, headers, sounds[voice] = real.get(url)
        assert (status, headers["content-type"]) == (200, "audio/mpeg"), voice
        assert int(headers["content-length"]) == len(sounds[voice]) > 2000
        assert headers["etag"]
        assert sounds[voice][0] == 0xFF  # eleven bits begin every frame of an mp3
        assert sounds[voice][1] & 0xE0 == 0xE0
    assert len(set(sounds.values())) == len(VOICES)
    assert real.get(real.urls["default"], "HEAD")[2] == b""


@pytest.mark.parametrize("name", ["utter-1.mp3", "utter-01.mp3", "utter-.mp3", "next-number", "", "../x"])
def test_unknown_speech_files_are_404(real: RealSpeaker, name: str) -> None:
    status, headers, _ = real.get(f"/speech/{name}")
    assert (status, headers["cache-control"]) == (404, "no-store")


def test_programs_that_hang_are_killed(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in speech.PROGRAMS:
        (programs / name).write_text(f"#!/bin/sh\necho $$ >> {tmp_path}/started\nexec sleep 1000\n")
        (programs / name).chmod(0o755)
    speaker = RealSpeaker(tmp_path, str(programs), limit=1)
    try:
        with ThreadPoolExecutor(3) as listeners:
            answers = sorted(
                status for status, *_ in listeners.map(speaker.get, [speaker.urls["default"]] * 3)
            )
        assert answers == [404, 404, 503]  # two may wait, the third is rejected
        assert speaker.get(speaker.urls["maori"])[0] == 404
    finally:
        speaker.stop()
    for line in (tmp_path / "started").read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(line), 0)
