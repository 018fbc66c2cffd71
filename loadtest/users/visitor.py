"""Users who load a stage in a browser and then join it."""

import random
from typing import Any
from urllib.parse import urlsplit

import topologies
from users.browser import Browser
from users.connection import SocketConnection, StageError, WebSocketConnection
from users.live_media import LiveMedia
from users.samples import Samples
from users.session import StageSession


class StageVisitor(Browser):
    """Loads the stage, joins it over the stage socket, stays and leaves."""

    abstract = True
    row_type = "stage"
    session_type: type[StageSession] = StageSession

    def visit(self, seconds: float | None = None) -> None:
        """Make one whole visit, which lasts `seconds`, or as long as the option `audience` says."""
        if self.load_stage():
            attend(self.session(), self.identity["key"], self.patience() if seconds is None else seconds)

    def patience(self) -> float:
        """Return the seconds to stay: a few, or 5 to 10 minutes."""
        return random.uniform(3, 10) if self.options.audience == "reloads" else random.uniform(300, 600)

    def session(self) -> StageSession:
        return self.session_type(
            Samples(self.environment, self.row_type), self.options, self.connect, LiveMedia(self.fetch_path)
        )

    def fetch_path(self, path: str) -> bool:
        """Fetch a path that a frame from the stage has named; return False if that failed."""
        return self.fetch(self.url(path))

    def connect(self) -> SocketConnection:
        port = topologies.stage_port(self.options.topology, self.options.stage_port)
        return SocketConnection(address(self), port)


class WebSocketVisitor(StageVisitor):
    """A StageVisitor that joins over a WebSocket (`/ws`), on the port that serves the pages."""

    abstract = True
    row_type = "ws"

    def connect(self) -> SocketConnection:
        target = urlsplit(self.host or "")
        return WebSocketConnection(target.hostname or "", target.port or 80, self.options.topology)


def attend(session: StageSession, key: str, seconds: float) -> None:
    """Join, stay and leave. The session has reported any error that ends the visit."""
    try:
        session.join(key)
        session.stay(seconds)
    except StageError:
        pass
    finally:
        session.leave()


def address(user: Any) -> str:
    """Return the name or address of the target, without its port."""
    return urlsplit(user.host or "").hostname or ""
