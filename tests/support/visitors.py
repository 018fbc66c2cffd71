"""Visitors of every kind, each with a few requests a second, and the problems that they met."""

import hashlib
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import parse_qsl

import websocket

from tests.stack import Stack
from tests.support.http import connect
from tests.support.stage_client import WebStageClient

EVERY = 0.25  # seconds between two requests of a kind
PATIENCE = 10.0  # seconds until a visitor gives up
STAGE = "demo"
ERRORS = (OSError, EOFError, AssertionError, websocket.WebSocketException)  # requests' errors are OSErrors


@dataclass(frozen=True)
class Visit:
    """One request, or one line of chat. Times are those of the monotonic clock, in seconds."""

    kind: str
    began: float
    ended: float
    problem: str  # empty: none


class Visitors:
    """Visitors who come until this is closed. One is a player, who talks, draws and moves an avatar."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self.visits: list[Visit] = []
        self.said: list[tuple[float, str]] = []  # the player's words and lines that all have seen, and when
        self.places: list[
            str
        ] = []  # the avatar's last place that all have seen, and one that they may have seen
        self.signed_out = False  # whether the player had to sign in again
        self._cookie = self._sign_in()
        self._closed = threading.Event()
        self._number = 0
        self._picture = hashlib.sha256(stack.get("/media/fox.svg").content).digest()
        kinds: dict[str, Callable[[], None]] = {
            "picture": lambda: self._get("/media/fox.svg", picture=True),
            "front page": lambda: self._get("/"),
            "new page": lambda: self._get(f"/stages/demo?{time.monotonic_ns()}"),
            "large file": lambda: self._get("/media/bench/big.swf"),
            "classic": lambda: self._get("/stages/demo", "classic.localhost"),
            "nginx.localhost": lambda: self._get("/", "nginx.localhost"),
            "workshop": lambda: self._get("/admin/"),
            "join": self._join,
            "policy": self._policy,
        }
        self._threads = [
            *(threading.Thread(target=self._repeat, args=item, daemon=True) for item in kinds.items()),
            threading.Thread(target=self._chat, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> "Visitors":
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        for thread in self._threads:
            thread.join(PATIENCE + 5)

    def failed(self, since: float = 0) -> list[Visit]:
        """Return the visits that ended after a time and went wrong."""
        return [visit for visit in list(self.visits) if visit.problem and visit.ended > since]

    def _repeat(self, kind: str, visit: Callable[[], None]) -> None:
        while not self._closed.wait(EVERY):
            self._visit(kind, visit)

    def _visit(self, kind: str, visit: Callable[[], None]) -> bool:
        began, problem = time.monotonic(), ""
        try:
            visit()
        except ERRORS as error:
            problem = f"{type(error).__name__}: {error}"[:100]
        ended = time.monotonic()
        if ended - began > PATIENCE:
            problem = problem or "slow"
        self.visits.append(Visit(kind, began, ended, problem))
        return not problem

    def _get(self, path: str, host: str = "localhost", picture: bool = False) -> None:
        response = self._stack.get(path, host)
        assert response.status_code == 200, response.status_code
        assert not picture or hashlib.sha256(response.content).digest() == self._picture, "another picture"

    def _join(self) -> None:
        client = self._stack.stage_client()
        try:
            client.join(stage=STAGE)
        finally:
            client.close()

    def _policy(self) -> None:
        with connect(("127.0.0.1", self._stack.ports["POLICY_FILE_PORT"]), PATIENCE) as client:
            client.sendall(b"<policy-file-request/>\0")
            assert b"cross-domain-policy" in client.recv(4096), "no policy"

    def _chat(self) -> None:
        """Play over one WebSocket; open another when that has ended, as the stage's page does."""
        while not self._closed.is_set():
            with suppress(*ERRORS):
                client = self._stack.web_stage_client()
                try:
                    client.join(self._key(), STAGE)
                    client.send("AV", ID="1")
                    client.send("DRAW_LAYER", layer="1")
                    while self._visit("chat", lambda: self._say(client)) and not self._closed.wait(EVERY):  # noqa: B023
                        pass
                finally:
                    client.close()
                continue
            now = time.monotonic()
            self.visits.append(Visit("chat", now, now, "no connection"))
            self._closed.wait(EVERY)

    def _say(self, client: WebStageClient) -> None:
        self._number += 1
        words = f"fault{time.monotonic_ns()}x{self._number}"
        x, y = str(time.monotonic_ns() // 10**6 % 10_000), str(self._number)
        place = place_in({"X": f"{1 + self._number % 300}.0", "Y": "50.0"})
        self.places = [*self.places[:1], place]
        client.send("TEXT", msg=words)
        client.send("DRAW_LINE", x=x, y=y)
        client.send("MOVE", X=str(1 + self._number % 300), Y="50")
        frames = client.until("AV_POS")  # the last frame of this action
        assert place_in(frames[-1]) == place, "another place"
        drawn = line_in({"x": x, "y": y})
        assert words in str(frames), "not said"
        assert drawn in map(line_in, frames), "not drawn"
        self.said += [(time.monotonic(), words), (time.monotonic(), drawn)]
        self.places = [place]

    def _sign_in(self) -> dict[str, str]:
        login = {"username": "admin", "password": self._stack.admin_password}
        response = self._stack.get("/admin/login", method="POST", data=login)
        return {"Cookie": response.headers["Set-Cookie"].split(";")[0]}

    def _key(self) -> str:
        """Return a key for the player's socket; the player must still be signed in."""
        response = self._stack.get("/admin/id", headers=self._cookie)
        assert response.status_code == 200, response.status_code
        told = dict(parse_qsl(response.text))
        if told["player"] == "admin":
            return told["key"]
        self.signed_out = True
        self._cookie = self._sign_in()
        return self._key()


def place_in(frame: dict[str, str]) -> str:
    """Return the place where an AV_POS puts an avatar."""
    return f"{frame['X']}, {frame['Y']}"


def line_in(frame: dict[str, str]) -> str:
    """Return the end point of a DRAW_LINE as text; its semicolon keeps it from being a part of another."""
    return f"to {frame.get('x')}, {frame.get('y')};"


def seen_by_a_newcomer(stack: Stack) -> tuple[str, str]:
    """Return the chat and the drawing as newcomers find them, in one text, and the avatar's place."""
    client = stack.stage_client()
    try:
        frames = client.join(stage=STAGE)
    finally:
        client.close()
    [place] = [place_in(frame) for frame in frames if frame["mode"] == "AV_POS" and frame["ID"] == "1"]
    log = stack.get(f"/stages/{STAGE}/log?{time.monotonic_ns()}").text  # newcomers are sent the newest lines
    return "\n".join([log, *map(line_in, frames)]), place
