"""The folder that both servers share: which is active, which is ready, and the operator's requests.

active             the lease of the active server: "ROLE starting" or "ROLE serving"
standby-ROLE       the lease of a server that stands by: "ROLE copying" or "ROLE ready"
preferred          the role whose server is active whenever it can be; no file: backend
failures-ROLE      how often in a row a server took over and did not last
copy               a request: copy now
copied             its outcome
media              a link to the active server's media folder, for nginx
"""

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from upstage.mirror.lease import TICK, Lease
from upstage.settings import ROLES, other_role

ALIVE = 5.0  # seconds since a standby's last touch; it may be busy with a large file
COPY_TIME = 60.0  # seconds to wait for a requested copy
SWITCH_TIME = 20.0  # seconds until the other server is ready, and as many until it serves


class ControlError(Exception):
    """A request of the operator cannot be carried out; the message says why."""


@dataclass
class Report:
    """The outcome of a requested copy."""

    database: int = 0  # bytes
    files: int = 0  # media that were copied
    bytes: int = 0  # of them
    removed: int = 0  # media
    total: int = 0  # media that both servers have now
    problem: str = ""  # why it failed


class Control:
    """The shared folder of two servers."""

    def __init__(self, folder: Path) -> None:
        """Make the folder. In the sockets' folder, as in /tmp, Linux would follow no other user's link."""
        with suppress(FileExistsError):
            folder.mkdir()
            folder.chmod(0o755)  # nginx is another user, and the umask may be strict
        self._folder = folder
        self.active = Lease(folder / "active")
        self.standby = {role: Lease(folder / f"standby-{role}") for role in ROLES}

    @property
    def active_role(self) -> str:
        """The role of the active server, empty if there is none."""
        return self.active.text().partition(" ")[0]

    @property
    def preferred(self) -> str:
        """The role whose server is active whenever possible."""
        role = self._read("preferred")
        return role if role in ROLES else ROLES[0]

    def failures(self, role: str) -> int:
        """Return how many times in a row this server took over and did not last."""
        text = self._read(f"failures-{role}")
        return int(text) if text.isdecimal() else 0

    def count_failure(self, role: str) -> None:
        """Count a takeover as failed until `lasted`."""
        self._write(f"failures-{role}", str(self.failures(role) + 1))

    def lasted(self, role: str) -> None:
        """Forget the failures of a server: it is healthy."""
        (self._folder / f"failures-{role}").unlink(missing_ok=True)

    def link_media(self, media: Path) -> None:
        """Let nginx read the media from this folder from now on."""
        new = self._folder / ".media"
        new.unlink(missing_ok=True)
        new.symlink_to(media)
        new.replace(self._folder / "media")

    def is_standing_by(self, role: str) -> bool:
        """Return whether the server with this role is on standby."""
        lease = self.standby[role]
        try:
            return bool(lease.text()) and time.time() - lease.path.stat().st_mtime < ALIVE
        except FileNotFoundError:
            return False

    # Requests of the operator, carried out by the standby.

    def copy_now(self) -> Report:
        """Let the standby copy; return what it did. Raise ControlError."""
        role = self.active_role
        if not role:
            raise ControlError("no server is active")
        other = other_role(role)
        if not self.is_standing_by(other):
            raise ControlError(f"{role} is active, but {other} is not on standby: it is not running")
        (self._folder / "copied").unlink(missing_ok=True)
        self._write("copy", "now")
        try:
            self._wait(
                lambda: (self._folder / "copied").exists(),
                COPY_TIME,
                lambda: f"{other} has not finished copying within {COPY_TIME:.0f} seconds",
            )
        finally:
            (self._folder / "copy").unlink(missing_ok=True)
        return Report(**json.loads(self._read("copied")))

    @property
    def copy_wanted(self) -> bool:
        """Whether a copy is requested."""
        return (self._folder / "copy").exists()

    def report(self, report: Report) -> None:
        """Answer the request."""
        (self._folder / "copy").unlink(missing_ok=True)
        self._write("copied", json.dumps(asdict(report)))

    def switch(self, role: str) -> None:
        """Prefer this server, and wait until it is active; or raise ControlError and change nothing."""
        before = self.preferred
        if self.active_role != role:
            self._wait(
                lambda: self._state_of(role) == "ready",
                SWITCH_TIME,
                lambda: f"{role} is not ready: {self._state_of(role)}",
            )
        self._write("preferred", role)
        try:
            self._wait(
                lambda: self.active.text() == f"{role} serving",
                SWITCH_TIME,
                lambda: f"{role} has not taken over; active: {self.active_role or 'no server'}",
            )
        except ControlError:
            self._write("preferred", before)
            raise

    def _state_of(self, role: str) -> str:
        """Return what the standby with this role is doing, for a message."""
        text = self.standby[role].text()
        return text.removeprefix(f"{role} ") if text and self.is_standing_by(role) else "it is not running"

    def _wait(self, done: Callable[[], bool], seconds: float, problem: Callable[[], str]) -> None:
        deadline = time.monotonic() + seconds
        while not done():
            if time.monotonic() > deadline:
                raise ControlError(problem())
            time.sleep(TICK)

    def _read(self, name: str) -> str:
        with suppress(FileNotFoundError):
            return (self._folder / name).read_text().strip()
        return ""

    def _write(self, name: str, text: str) -> None:
        new = self._folder / f".{name}-{os.getpid()}"
        new.write_text(text + "\n")
        new.replace(self._folder / name)
