"""A reactor with fake processes, which run until the test ends them."""

from pathlib import Path
from typing import Any

from twisted.internet.error import ProcessDone, ProcessExitedAlready, ProcessTerminated
from twisted.internet.task import Clock
from twisted.python.failure import Failure


class Process:
    """One program, ended by the test."""

    pid = 1 << 30  # above every process ID of Linux

    def __init__(self, protocol: Any, arguments: list[str]) -> None:
        self.protocol = protocol
        self.arguments = arguments
        self.text = b""
        self.ended = False

    def writeToChild(self, number: int, data: bytes) -> None:
        assert number == 0
        self.text += data

    def closeChildFD(self, number: int) -> None:
        assert number == 0

    def signalProcess(self, signal: str) -> None:
        assert signal == "KILL"
        if self.ended:
            raise ProcessExitedAlready
        self.end(ProcessTerminated(signal=9))

    def end(self, reason: Exception) -> None:
        self.ended = True
        self.protocol.processEnded(Failure(reason))


class Machine(Clock):
    """A reactor whose programs run until the test ends them."""

    def __init__(self) -> None:
        super().__init__()
        self.processes: list[Process] = []

    def spawnProcess(self, protocol: Any, program: str, arguments: list[str], **_: object) -> Process:
        self.processes.append(Process(protocol, arguments))
        return self.processes[-1]

    def running(self) -> list[Process]:
        return [process for process in self.processes if not process.ended]

    def finish(self, content: bytes = b"mp3") -> None:
        """End the two oldest programs successfully, after the encoder has written its file."""
        encoder, speaker = self.running()[:2]
        Path(encoder.arguments[-1]).write_bytes(content)
        speaker.end(ProcessDone(0))
        encoder.end(ProcessDone(0))
