"""A server that stands by: copies the active one's data, and waits for its turn. It listens nowhere.

- No server is active: the preferred server takes over immediately, the other one GRACE later.
- The active server hangs, and has not touched its lease for HANG: the standby replaces the lease.
- The active server is not the preferred one, and the standby is ready: it hands over (`active`).

A server that has taken over and did not last waits twice as long each time: the two must not take turns.
"""

import time
from collections.abc import Iterator

from twisted.logger import Logger

from upstage.mirror.control import Control
from upstage.mirror.copying import Replica
from upstage.mirror.lease import TICK, Pulse
from upstage.settings import Settings
from upstage.state.copies import CopyError

# In ticks:
GRACE = 4
HANG = 32  # more than the watchdog's limit: usually the hanging server has been killed by then
PAUSE = 4  # between two copies
STEADY = 20  # before a server that has just started may take over from one that is active
MAX_DOUBLINGS = 7  # of that time, after failures: some ten minutes

log = Logger()


class Standby:
    """Waits for the turn of the server with these settings, of which `pair` is set."""

    def __init__(self, settings: Settings) -> None:
        assert settings.pair
        self._pair = settings.pair
        self._media = settings.media
        self.control = Control(self._pair.control)
        self._replica = Replica(self._pair, settings.data, settings.media)
        self._own = self.control.standby[self._pair.role]
        self._pulse = Pulse(self.control.active)
        self._free = 0  # ticks without an active server
        self._steady = 0  # ticks since the start
        self._complete = False  # whether everything has been copied
        self._problem = ""  # why the last copy failed

    def wait(self) -> bool:
        """Return, once this server holds the lease `active`, whether it has all data of the other server."""
        self._tell("copying")
        log.info("standing by", fields={"role": self._pair.role})
        copying = self._copying()
        while not self._is_my_turn():
            self._tell("ready" if self._is_ready() else "copying")
            deadline = time.monotonic() + TICK
            while time.monotonic() < deadline and next(copying):
                pass
            time.sleep(max(0.0, deadline - time.monotonic()))
            self._steady += 1
        self._own.release()
        return self._take_over()

    def _is_my_turn(self) -> bool:
        """Return whether this server holds the lease now."""
        role, active = self._pair.role, self.control.active
        holder = active.text()
        self._free = 0 if holder else self._free + 1
        silent = self._pulse.look()
        if not self._may_serve():
            return False
        if holder:
            return silent > HANG and active.replace(f"{role} starting")
        return self._free > self._patience() and active.take(f"{role} starting")

    def _patience(self) -> int:
        """Return for how many ticks to leave a free lease to the other server."""
        if self.control.preferred != self._pair.role:
            return GRACE
        return 0 if self._is_ready() or not self.control.failures(self._pair.role) else 2 * GRACE

    def _is_ready(self) -> bool:
        """Return whether the active server may hand over to this one, the preferred one."""
        steady = STEADY << min(self.control.failures(self._pair.role), MAX_DOUBLINGS)
        return self._complete and self._steady >= steady

    def _may_serve(self) -> bool:
        """Return whether there is anything to serve: a mirror has no data before its first copy."""
        return self._pair.role == "backend" or self._replica.term.number > 0

    def _tell(self, state: str) -> None:
        text = f"{self._pair.role} {state}"
        # Replaced if need be: the lock on the data folder shows that no other server is here. A process that
        # looks at the lease may lock it for a moment; then the next tick tries again.
        if self._own.held or self._own.take(text) or self._own.replace(text):
            self._own.write(text)
            self._own.touch()

    def _copying(self) -> Iterator[bool]:
        """Copy forever; each step yields whether there is more to do immediately."""
        while True:
            began = time.monotonic()
            wanted = self.control.copy_wanted
            if wanted:
                self._replica.forget()
            if self._replica.is_behind():
                yield from self._pass()
                if wanted:
                    self._replica.report.problem = self._problem
                    self.control.report(self._replica.report)
            took = time.monotonic() - began
            for _ in range(max(PAUSE, int(4 * took / TICK))):  # at most a fifth of the time
                yield False
                if self.control.copy_wanted:
                    break

    def _pass(self) -> Iterator[bool]:
        try:
            for _ in self._replica.copy():
                yield True
        except CopyError as error:
            self._complete = False
            if str(error) != self._problem:
                log.error("not copied", fields={"problem": str(error)})
            self._problem = str(error)
        else:
            if not self._complete:
                log.info("copied", fields=vars(self._replica.report))
            self._complete, self._problem = True, ""

    def _take_over(self) -> bool:
        """Copy the rest, and make this server's data the newer ones."""
        role, control = self._pair.role, self.control
        control.count_failure(role)
        complete = True
        try:
            if self._replica.is_behind():
                self._replica.forget()
                for _ in self._replica.copy():
                    control.active.touch()
            elif self._replica.term.role == self._pair.peer:  # these are a copy
                raise CopyError(f"{self._pair.peer}'s data are lost, or older than their copy")
        except CopyError as error:
            complete = False
            log.error("taking over without the latest changes", fields={"problem": str(error)})
        self._replica.new_term()
        control.link_media(self._media)
        log.info("taking over", fields={"role": role, "complete": complete})
        return complete
