"""The voices, and the two programs that turn a line of text into an mp3: espeak-ng and lame."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.error import ProcessDone, ProcessExitedAlready
from twisted.internet.interfaces import IProcessTransport
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

NICE = 10  # a lower priority than the server's, which must not wait for a core
MAX_COMPLAINTS = 500  # bytes of the programs' standard error, for the log


@dataclass(frozen=True)
class Voice:
    """espeak-ng's options: language and variant, pitch 0 to 99, words per minute."""

    variant: str
    pitch: int = 50
    speed: int = 160


VOICES = {
    "default": Voice("en"),
    "bass": Voice("en+m3", 15, 145),
    "tenor": Voice("en+m1", 60),
    "alto": Voice("en+f2", 45),
    "soprano": Voice("en+f4", 80, 170),
    "child": Voice("en+f5", 99, 180),
    "old": Voice("en+m5", 20, 115),
    "croak": Voice("en+croak"),
    "whisper": Voice("en+whisper", 50, 140),
    "robot": Voice("en+klatt2", 0, 150),
    "scottish": Voice("en-gb-scotland"),
    "german": Voice("de"),
    "french": Voice("fr-fr"),
    "spanish": Voice("es"),
    "maori": Voice("mi"),
}


class Recording:
    """Runs both programs for one line; `done` fires with True if `path` was written, otherwise with False.

    A pipe connects the programs, so the sound never passes through the reactor. The text goes to standard
    input: on a command line every user of the machine could read it, and it could be taken for an option.
    """

    def __init__(self, reactor: Any, programs: Sequence[str], voice: Voice, text: str, path: Path) -> None:
        """Start both programs; `programs` are the paths of espeak-ng and lame. Raise OSError."""
        self.done: Deferred[bool] = Deferred()
        self.errors = b""
        self._path = path
        self._part = path.with_suffix(".part")
        self._processes: list[IProcessTransport] = []
        self._results: list[bool] = []
        speaker, encoder = programs
        speak = ["espeak-ng", "--stdin", "--stdout", "-b", "1", "-v", voice.variant]
        speak += ["-p", str(voice.pitch), "-s", str(voice.speed)]
        encode = ["lame", "--quiet", "-m", "m", "--abr", "40", "-", str(self._part)]
        sound_out, sound_in = os.pipe()
        try:
            self._spawn(reactor, encoder, encode, {0: sound_out, 2: "r"})
            first = self._spawn(reactor, speaker, speak, {0: "w", 1: sound_in, 2: "r"})
        except OSError:
            self.kill()
            raise
        finally:
            os.close(sound_out)
            os.close(sound_in)
        first.writeToChild(0, text.encode("utf-8", "replace"))
        first.closeChildFD(0)

    def _spawn(self, reactor: Any, program: str, arguments: list[str], files: dict[int, int | str]) -> Any:
        process = reactor.spawnProcess(
            _Program(self), program, arguments, env={"LANG": "C.UTF-8"}, childFDs=files
        )
        self._processes.append(process)
        with suppress(ProcessLookupError):  # the program has ended already
            os.setpriority(os.PRIO_PROCESS, process.pid, NICE)
        return process

    def kill(self) -> None:
        """Kill both programs; `done` fires afterwards."""
        for process in self._processes:
            with suppress(ProcessExitedAlready):
                process.signalProcess("KILL")

    def failed_with(self, data: bytes) -> None:
        self.errors = (self.errors + data)[:MAX_COMPLAINTS]

    def ended(self, succeeded: bool) -> None:
        """Note that a program has ended. Use the file only if both succeeded: else it may be incomplete."""
        self._results.append(succeeded)
        if len(self._results) < 2:
            return
        made = all(self._results) and self._part.exists()
        if made:
            self._part.replace(self._path)
        else:
            self._part.unlink(missing_ok=True)
        self.done.callback(made)


class _Program(ProcessProtocol):
    """One of the two programs: reports its errors and its end to the recording."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def errReceived(self, data: bytes) -> None:
        self._recording.failed_with(data)

    def processEnded(self, reason: Failure) -> None:
        self._recording.ended(reason.check(ProcessDone) is not None)
