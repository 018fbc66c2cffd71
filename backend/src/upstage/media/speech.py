"""Speech: a spoken line becomes `/speech/utter-N.mp3`.

The URL is sent before the file exists: WAVE follows the text immediately, and requests for the URL wait (see
`web.speech`). The times are UpStage's; the limits are not: one recording per core, and a bounded queue.
"""

import os
import shutil
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from twisted.application.service import Service
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from upstage.media.voices import VOICES, Recording, Voice

PROGRAMS = ("espeak-ng", "lame")
TIME_LIMIT = 15.0  # seconds from the line to its file, including the wait for a core
LIFETIME = 90.0  # seconds from the line until its file is removed
MAX_WAITING = 32  # lines that wait for a core
MAX_KEPT = 200  # files; above that the oldest are removed early
MAX_TEXT = 600  # characters: some 40 seconds of speech
NUMBERS_AT_ONCE = 1000  # numbers that one write to the counter file reserves

log = Logger()


@dataclass(eq=False)
class Utterance:
    """One spoken line on its way to a file."""

    voice: Voice
    text: str
    path: Path
    timers: list[IDelayedCall] = field(default_factory=list)
    waiting: list[Deferred[Path]] = field(default_factory=list)
    recording: Recording | None = None
    late: bool = False
    done: bool = False  # true once the file exists, or if it will never exist


class Speaker(Service):
    """Records the lines of all stages. If a program is missing, it logs this once and records nothing."""

    def __init__(self, folder: Path, reactor: Any, cores: int = 0, path: str | None = None) -> None:
        """Keep files in `folder`. `cores`: recordings at once; 0: one per core. `path` replaces $PATH."""
        self._folder = folder
        self._reactor = reactor
        self._cores = cores or len(os.sched_getaffinity(0))
        found = {name: shutil.which(name, path=path) for name in PROGRAMS}
        self._programs = [program for program in found.values() if program]
        self._missing = [name for name in PROGRAMS if not found[name]]
        self._numbers = Numbers(folder / "next-number")
        self._kept: dict[int, Utterance] = {}
        self._queue: deque[Utterance] = deque()
        self._silence: Deferred[None] | None = None
        self.recording = 0
        self.outcomes = Counter(spoken=0, failed=0, late=0, rejected=0)

    @property
    def queued(self) -> int:
        """The number of lines that wait for a core."""
        return len(self._queue)

    @property
    def waiting(self) -> int:
        """The number of requests that wait for a file."""
        return sum(len(utterance.waiting) for utterance in self._kept.values())

    def startService(self) -> None:
        """Remove the files of an earlier run; warn if a program is missing."""
        for path in self._folder.glob("utter-*"):
            path.unlink()
        if self._missing:
            log.warn("speech is off: a program is missing", fields={"missing": self._missing})
        super().startService()

    def stopService(self) -> Deferred[None]:
        """Stop immediately; fire when no program is running."""
        super().stopService()
        for number in list(self._kept):
            self._forget(number)
        silence: Deferred[None] = Deferred()
        if self.recording:
            self._silence = silence
        else:
            silence.callback(None)
        return silence

    def speak(self, voice: str, text: str) -> str | None:
        """Return a line's URL immediately, before the line is recorded; None if it will not be recorded.

        `voice` is a name from VOICES; any other means `default`, as on UpStage.
        """
        if not self.running or self._missing or not text.strip():
            return None
        if len(self._queue) >= MAX_WAITING:
            self.outcomes["rejected"] += 1
            return None
        try:
            number = self._numbers.take()
        except OSError as error:  # a full disk must not stop the chat
            self.outcomes["failed"] += 1
            log.warn("a line could not be spoken", fields={"reason": str(error)})
            return None
        path = self._folder / f"utter-{number}.mp3"
        utterance = Utterance(VOICES.get(voice, VOICES["default"]), text[:MAX_TEXT], path)
        utterance.timers = [
            self._reactor.callLater(TIME_LIMIT, self._too_late, utterance),
            self._reactor.callLater(LIFETIME, self._forget, number),
        ]
        self._kept[number] = utterance
        if len(self._kept) > MAX_KEPT:
            self._forget(next(iter(self._kept)))
        self._queue.append(utterance)
        self._record()
        return f"/speech/{path.name}"

    def file(self, number: int) -> Deferred[Path]:
        """Fire with the path of an utterance once its file is complete or is known never to exist.

        Cancel the Deferred when the client disconnects.
        """
        utterance = self._kept.get(number)
        if utterance is None or utterance.done:
            return succeed(self._folder / f"utter-{number}.mp3")
        waiting = utterance.waiting
        ready: Deferred[Path] = Deferred(waiting.remove)
        waiting.append(ready)
        return ready

    def _record(self) -> None:
        """Start recordings while a core is free."""
        while self._queue and self.recording < self._cores:
            utterance = self._queue.popleft()
            try:
                recording = Recording(
                    self._reactor, self._programs, utterance.voice, utterance.text, utterance.path
                )
            except OSError as error:  # no process, file or pipe available
                log.warn("a line could not be spoken", fields={"reason": str(error)})
                self._finish(utterance, "failed")
                continue
            self.recording += 1
            utterance.recording = recording
            recording.done.addCallback(self._recorded, utterance)

    def _recorded(self, made: bool, utterance: Utterance) -> None:
        self.recording -= 1
        if not made and not utterance.late and utterance.recording:
            reason = utterance.recording.errors.decode("utf-8", "replace")
            log.warn("a line could not be spoken", fields={"reason": reason})
        utterance.recording = None
        if utterance.done:  # the utterance was dropped while its programs were being killed
            utterance.path.unlink(missing_ok=True)
        else:
            self._finish(utterance, "spoken" if made else "late" if utterance.late else "failed")
        if self.running:
            self._record()
        elif self._silence and not self.recording:
            self._silence.callback(None)

    def _too_late(self, utterance: Utterance) -> None:
        """Drop a line that is late: it would no longer match the chat."""
        utterance.late = True
        if utterance.recording:
            utterance.recording.kill()
        elif utterance in self._queue:
            self._queue.remove(utterance)
            self._finish(utterance, "late")

    def _finish(self, utterance: Utterance, outcome: str) -> None:
        """Count a line's outcome, and fire the Deferreds of all requests that wait for its file."""
        utterance.done = True
        self.outcomes[outcome] += 1
        waiting, utterance.waiting = utterance.waiting, []
        for ready in waiting:
            ready.callback(utterance.path)

    def _forget(self, number: int) -> None:
        """Remove an utterance and its file; stop its recording if there is one."""
        utterance = self._kept.pop(number)
        for timer in utterance.timers:
            if timer.active():
                timer.cancel()
        if utterance in self._queue:
            self._queue.remove(utterance)
        if not utterance.done:
            self._finish(utterance, "late")
        if utterance.recording:
            utterance.recording.kill()
        utterance.path.unlink(missing_ok=True)


class Numbers:
    """Numbers that are never used twice, not even after a restart: a cache would serve the old line.

    A file stores the end of the reserved range. If the file is lost, numbers continue from the clock, which
    is ahead of every earlier number.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._next = self._reserved = 0

    def take(self) -> int:
        """Return a number; raise OSError if no more can be reserved."""
        if self._next == self._reserved:
            try:
                before = int(self._path.read_text())
            except (FileNotFoundError, ValueError):
                before = 0
            self._next = max(before, int(time.time()))
            self._reserved = self._next + NUMBERS_AT_ONCE
            new = self._path.with_suffix(".new")
            new.write_text(f"{self._reserved}\n")
            new.replace(self._path)
        self._next += 1
        return self._next - 1
