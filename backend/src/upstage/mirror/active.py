"""The part of a running server that has a standby: keeps the lease, and hands over."""

import os
import sys
from typing import Any, NoReturn

from twisted.application.service import Service
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from upstage.mirror.control import Control
from upstage.mirror.lease import TICK, Pulse
from upstage.mirror.standby import STEADY
from upstage.mirror.watchdog import Watchdog
from upstage.settings import other_role

SILENT = 8  # ticks without a touch of its lease after which nothing is handed over to a standby

log = Logger()


class Active(Service):
    """Runs while the server is active. Start it when the server listens, and stop it last."""

    def __init__(self, control: Control, role: str, reactor: Any) -> None:
        self._control = control
        self._role = role
        self._reactor = reactor
        self._ticks = 0
        self._other = other_role(role)
        self._pulse = Pulse(control.standby[self._other])
        self._loop = LoopingCall(self._tick)
        self._loop.clock = reactor
        self._watchdog: Watchdog | None = None
        self.handed_over = False

    def startService(self) -> None:
        """Tell the others that this server is ready."""
        super().startService()
        self._watchdog = Watchdog()
        self._control.active.write(f"{self._role} serving")
        self._loop.start(TICK, now=False)

    def stopService(self) -> None:
        super().stopService()
        self._loop.stop()
        self._control.lasted(self._role)
        if self._watchdog:
            self._watchdog.stop()
        self._control.active.release()

    def _tick(self) -> None:
        assert self._watchdog
        if not self._control.active.held:
            self._end()
        self._control.active.touch()
        self._watchdog.feed()
        self._ticks += 1
        if self._ticks == STEADY:
            self._control.lasted(self._role)
        silent = self._pulse.look()
        if self._control.preferred != self._other or self.handed_over:
            return
        if self._control.standby[self._other].text() == f"{self._other} ready" and silent < SILENT:
            log.info("handing over", fields={"to": self._other})
            self.handed_over = True
            self._reactor.stop()  # closes every connection, and writes the queued data

    def _end(self) -> NoReturn:
        """This process hung, and the standby has taken over: end its connections immediately, remove
        nothing."""
        log.error("the other server has taken over: ending", fields={"role": self._role})
        sys.stdout.flush()
        os._exit(1)


def start_again() -> NoReturn:
    """Replace this process with a new one of the same program, which stands by."""
    os.execv(sys.executable, sys.orig_argv)  # noqa: S606  # the words that started it
