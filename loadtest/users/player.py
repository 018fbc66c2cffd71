"""A player: signs in, takes an avatar, walks, speaks and draws."""

import logging
import random
from argparse import Namespace
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from locust import User
from locust.dispatch import UsersDispatcher
from locust.env import Environment
from locust.exception import StopUser
from locust.runners import WorkerNode

import options
from caches import counters
from users import checks
from users.connection import StageError
from users.samples import Samples
from users.session import StageSession
from users.visitor import StageVisitor

LOGIN = "/admin/login"
POINTS = 20  # of a stroke
BETWEEN_POINTS = 0.05  # seconds: 20 frames a second, a third of what the stage accepts from one client
LAYER = "3"

log = logging.getLogger(__name__)


def has_account(given: Namespace) -> bool:
    """Whether the options name an account to sign in with."""
    return bool(given.player and given.password)


def register(environment: Environment) -> None:
    """Leave players out of a run without an account; users of the other classes replace them.

    The process that leads the run creates the dispatcher at the start, after it has read the form.
    """

    def dispatcher(worker_nodes: list[WorkerNode], user_classes: list[type[User]]) -> UsersDispatcher:
        assert environment.parsed_options
        options.fill_in(environment.parsed_options)
        others = [other for other in user_classes if not issubclass(other, SignedInVisitor)]
        if len(others) < len(user_classes) and not has_account(environment.parsed_options):
            log.info("No Player in this run: --player and --password (or the form) name no account.")
            user_classes = others or user_classes
        return UsersDispatcher(worker_nodes, user_classes)

    environment.dispatcher_class = dispatcher  # type: ignore[assignment]


class SignedInVisitor(StageVisitor):
    """Joins with the key of a player's account."""

    abstract = True

    def on_start(self) -> None:
        """Start signed out."""
        super().on_start()
        self.signed_in = False

    def sign_in(self) -> bool:
        """Sign in if necessary; False if it failed. StopUser without an account.

        A wrong password is tried once: after ten of them the backend locks this address out.
        """
        if not has_account(self.options):
            raise StopUser
        if self.signed_in:
            return True
        # Without cookies, as a program sends the form: then the backend requires no token.
        self.client.cookiejar.clear()
        form = {"username": self.options.player, "password": self.options.password}
        headers = {"Host": self.options.topology, "Content-Type": "application/x-www-form-urlencoded"}
        with self.client.post(
            LOGIN, name=LOGIN, data=urlencode(form), headers=headers, catch_response=True
        ) as response:
            if response.request_meta["exception"]:
                return False  # Locust reports the reason
            status = response.status_code
            counters.count(LOGIN, ", ".join(response.headers.getlist("cache-status")))
            self.signed_in = status == 302
            if not self.signed_in:
                response.failure(f"{LOGIN}: status {status}")
        if status == 401:
            log.error("No Player in this run: the server rejects this account and password.")
            raise StopUser
        return self.signed_in

    def read_identity(self, text: str) -> str | None:
        """Require the account that signed in; otherwise the key is not a player's."""
        fault = super().read_identity(text) or checks.player_fault(self.identity, self.options.player)
        if fault:
            self.identity = {}
            self.signed_in = False
        return fault

    def session(self) -> StageSession:
        """A player's session instead of the audience's."""
        return PlayerSession(Samples(self.environment, self.row_type), self.options, self.connect)


class PlayerSession(StageSession):
    """A player's session. Three more rows, each until the stage has sent the change to every client:

    avatar   from the request for a free avatar
    move     from a step
    draw     from the last point of a stroke
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.avatar = ""  # ID of the avatar in hand
        self._me = ""  # sock_N
        self._free: list[str] = []  # IDs of avatars
        self._places: dict[str, tuple[str, str]] = {}  # ID of an avatar -> its place before this session

    def actions(self) -> Iterator[float]:
        """Take an avatar if one is free, then walk, speak and draw in turns."""
        while self._free and not self.avatar:
            wanted = self._free.pop(0)
            self.expect("avatar", "AV_CONNECT", wanted)
            self.send("AV", ID=wanted)
            yield 1.0
        self.send("DRAW_LAYER", layer=LAYER)
        self.send("DRAW_STYLE", colour="16711680", thickness="2", alpha="100")
        while True:
            for _ in range(3 if self.avatar else 0):
                self.walk()
                yield 1.0
            self.say()
            yield 3.0
            yield from self.stroke()
            yield 1.0

    def leave(self) -> None:
        """Leave the stage as it was: nothing drawn, the avatar back in its place or off the stage."""
        try:
            if self.is_connected:
                self.send("DRAW_CLEAR", layer=LAYER)
            if self.avatar in self._places:
                x, y = self._places[self.avatar]
                self.send("MOVE", X=x, Y=y)
            elif self.avatar:
                self.send("EXIT", ID=self.avatar)
        except StageError:
            pass
        super().leave()

    def walk(self) -> None:
        """One step to a random place."""
        x, y = f"{random.randint(1, 224)}.0", f"{random.randint(1, 188)}.0"
        self.expect("move", "AV_POS", self.avatar, x, y)
        self.send("MOVE", X=x, Y=y)

    def stroke(self) -> Iterator[float]:
        """A horizontal line across the stage, at the speed of a hand."""
        self.send("DRAW_CLEAR", layer=LAYER)
        y = str(random.randint(1, 188))
        self.send("DRAW_MOVE", x="1", y=y)
        for x in range(10, 10 * POINTS, 10):
            yield BETWEEN_POINTS
            if x == 10 * POINTS - 10:
                self.expect("draw", "DRAW_LINE", LAYER, str(x), y)
            self.send("DRAW_LINE", x=str(x), y=y)

    def received(self, mode: str, fields: dict[str, str]) -> None:
        """Follow this client's ID, the free avatars and the echoes of its own actions."""
        super().received(mode, fields)
        match mode:
            case "SET":
                self._me = fields.get("ID", "")
            case "LOAD_AV" if fields.get("available") == "True":
                self._free.append(fields.get("ID", ""))
            case "AV_CONNECT" if fields.get("client") == self._me:
                self.avatar = fields.get("ID", "")
                self.came(mode, self.avatar)
            case "AV_POS":
                if not self.avatar:
                    self._places[fields.get("ID", "")] = fields.get("X", ""), fields.get("Y", "")
                self.came(mode, fields.get("ID", ""), fields.get("X", ""), fields.get("Y", ""))
            case "DRAW_LINE":
                self.came(mode, fields.get("layer", ""), fields.get("x", ""), fields.get("y", ""))
