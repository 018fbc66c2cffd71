"""The service that makes the files of the stage `festival`, and then adds the stage."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.error import ProcessDone, ProcessExitedAlready
from twisted.internet.protocol import ProcessProtocol
from twisted.logger import Logger
from twisted.python.failure import Failure

from upstage.festival.stage import festival
from upstage.state.live import LiveState
from upstage.state.seed import media_of

REPORT = 15  # files between two lines of the log
MAX_ERRORS = 2000  # characters of the process's errors that are logged

log = Logger()


class FestivalMaker(Service):
    """Makes the missing files once the server is running; a later start continues what this one leaves."""

    def __init__(self, state: LiveState, media: Path, new: bool, reactor: Any) -> None:
        """`new`: the stage has not been seeded yet."""
        self._state = state
        self._media = media
        self._new = new
        self._reactor = reactor
        self._process: FileMaker | None = None

    def startService(self) -> None:
        """Make the missing files of a new stage; of an old one, restore those that players have kept."""
        super().startService()
        files = {thing.file for thing in festival().things}
        if not self._new:
            files &= self._state.now.media.keys()
        missing = sorted(file for file in files if not (self._media / file).exists())
        if missing:
            try:
                self._process = FileMaker(self._media, missing, self._reactor)
            except OSError as error:  # no process available
                log.warn("the stage festival could not be made", fields={"errors": str(error)})
                return
            self._process.ended.addCallback(self._ended)
        elif self._new:
            self._add()

    def stopService(self) -> Deferred[bool] | None:
        """Stop the process; fires when it has ended."""
        super().stopService()
        return self._process.stop() if self._process else None

    def _ended(self, complete: bool) -> bool:
        self._process = None
        if complete and self._new and self.running:
            self._add()
        return complete

    def _add(self) -> None:
        async def add() -> None:
            stage = festival()
            media = media_of(stage, self._media)
            await self._state.change(self._state.database.seed, stage, media)
            log.info("the stage festival is ready", fields={"bytes": sum(medium.size for medium in media)})

        def failed(failure: Failure) -> None:  # such as a full disk: the next start tries again
            log.failure("the stage festival could not be added", failure=failure)

        Deferred.fromCoroutine(add()).addErrback(failed)


class FileMaker(ProcessProtocol):
    """The process that makes files; `ended` fires with whether it has made all of them."""

    transport: Any

    def __init__(self, media: Path, files: list[str], reactor: Any) -> None:
        """Start it; raise OSError."""
        self.ended: Deferred[bool] = Deferred()
        self._files = len(files)
        self._made = 0
        self._stopped = False
        self._errors = ""
        command = [sys.executable, "-m", "upstage.festival", str(media), *files]
        reactor.spawnProcess(self, sys.executable, command, env=None)
        log.info("the stage festival is being made", fields={"files": self._files})

    def stop(self) -> Deferred[bool]:
        """Stop the process, which may be in the middle of a file: no incomplete file is ever published."""
        self._stopped = True
        with suppress(ProcessExitedAlready):
            self.transport.signalProcess("TERM")
        return self.ended

    def outReceived(self, data: bytes) -> None:
        """Report the progress: each line is a file."""
        before, self._made = self._made, self._made + data.count(b"\n")
        if before // REPORT != self._made // REPORT:
            log.info("the stage festival is being made", fields={"made": self._made, "files": self._files})

    def errReceived(self, data: bytes) -> None:
        """Keep the end of the errors for the log."""
        self._errors = (self._errors + data.decode("utf-8", "replace"))[-MAX_ERRORS:]

    def processEnded(self, reason: Failure) -> None:
        """Tell the service."""
        complete = reason.check(ProcessDone) is not None
        if not complete and not self._stopped:
            log.warn("the stage festival could not be made", fields={"errors": self._errors})
        self.ended.callback(complete)
