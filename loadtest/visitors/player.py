"""Somebody who plays: signs in, takes an avatar, moves, speaks and draws."""

import logging
import random
from argparse import Namespace
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from locust import User, between, events, task
from locust.dispatch import UsersDispatcher
from locust.env import Environment
from locust.exception import StopUser
from locust.runners import WorkerNode

from visitors import arguments, verdict
from visitors.line import LineError
from visitors.samples import Samples
from visitors.seat import Seat
from visitors.visitor import Spectator, saw

LOGIN = "/admin/login"
POINTS = 20  # of a stroke
BETWEEN_POINTS = 0.05  # seconds: 20 frames a second, a third of what the stage takes from one client
LAYER = "3"

log = logging.getLogger(__name__)


def has_account(options: Namespace) -> bool:
    """Whether there is somebody to sign in as."""
    return bool(options.player and options.password)


def leave_out(environment: Environment, **_: Any) -> None:
    """Without an account there is no Player: the other classes share its place.

    Locust asks for its dispatcher when a run begins and the form has been read, on whoever leads the run.
    """

    def dispatcher(worker_nodes: list[WorkerNode], user_classes: list[type[User]]) -> UsersDispatcher:
        options = environment.parsed_options
        assert options
        arguments.complete(options)
        if Player in user_classes and not has_account(options):
            log.info("No Player in this run: --player and --password (or the form) name no account.")
            user_classes = [other for other in user_classes if other is not Player] or user_classes
        return UsersDispatcher(worker_nodes, user_classes)

    environment.dispatcher_class = dispatcher  # type: ignore[assignment]


events.init.add_listener(leave_out)  # type: ignore[no-untyped-call]


class Player(Spectator):
    """One of them, because one account has one seat on a stage."""

    fixed_count = 1
    wait_time = between(1, 3)

    def on_start(self) -> None:
        """Arrive, not signed in."""
        super().on_start()
        self.signed_in = False

    @task
    def perform(self) -> None:
        """An act, with a player's key; without an account there is none (`leave_out`)."""
        if not has_account(self.options):
            raise StopUser
        self.signed_in = self.signed_in or self.sign_in()
        if self.signed_in:
            self.visit(random.uniform(60, 120))

    def sign_in(self) -> bool:
        """Post the form as a program does, without cookies; tell whether we are in.

        A wrong password is tried once: after ten the house locks this address out.
        """
        self.client.cookiejar.clear()
        form = {"username": self.options.player, "password": self.options.password}
        headers = {"Host": self.options.topology, "Content-Type": "application/x-www-form-urlencoded"}
        with self.client.post(
            LOGIN, name=LOGIN, data=urlencode(form), headers=headers, catch_response=True
        ) as response:
            if response.request_meta["exception"]:
                return False  # Locust reports why
            status = response.status_code
            saw(LOGIN, ", ".join(response.headers.getlist("cache-status")))
            if status == 302:
                return True
            response.failure(f"{LOGIN}: status {status}")
        if status == 401:
            log.error("No Player in this run: the house does not know this name with this password.")
            raise StopUser
        return False

    def read_identity(self, text: str) -> str | None:
        """We must be who we signed in as, or this is no player's key."""
        fault = super().read_identity(text) or verdict.player_fault(self.identity, self.options.player)
        if fault:
            self.identity = {}
            self.signed_in = False
        return fault

    def seat(self) -> Seat:
        """On the stage instead of before it."""
        return Spotlight(Samples(self.environment, self.row_type), self.options, self.dial)


class Spotlight(Seat):
    """A player's seat, with three more rows, each until the stage has told everybody.

    avatar   from asking for a free avatar until it is in hand
    move     from a step until everybody has been told
    draw     from the last point of a stroke until it comes back
    """

    def __init__(self, *seat: Any) -> None:
        super().__init__(*seat)
        self.avatar = ""  # ID of the one in hand
        self._me = ""  # sock_N
        self._free: list[str] = []  # IDs of avatars
        self._places: dict[str, tuple[str, str]] = {}  # ID of an avatar -> where it stood before we took it

    def part(self) -> Iterator[float]:
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
        """Go, and leave the stage as it was: nothing drawn, the avatar where it stood or off again."""
        try:
            if self._line:
                self.send("DRAW_CLEAR", layer=LAYER)
            if self.avatar in self._places:
                x, y = self._places[self.avatar]
                self.send("MOVE", X=x, Y=y)
            elif self.avatar:
                self.send("EXIT", ID=self.avatar)
        except LineError:
            pass
        super().leave()

    def walk(self) -> None:
        """One step to anywhere."""
        x, y = f"{random.randint(1, 224)}.0", f"{random.randint(1, 188)}.0"
        self.expect("move", "AV_POS", self.avatar, x, y)
        self.send("MOVE", X=x, Y=y)

    def stroke(self) -> Iterator[float]:
        """A line across the stage, drawn as a hand would."""
        self.send("DRAW_CLEAR", layer=LAYER)
        y = str(random.randint(1, 188))
        self.send("DRAW_MOVE", x="1", y=y)
        for x in range(10, 10 * POINTS, 10):
            yield BETWEEN_POINTS
            if x == 10 * POINTS - 10:
                self.expect("draw", "DRAW_LINE", LAYER, str(x), y)
            self.send("DRAW_LINE", x=str(x), y=y)

    def got(self, mode: str, fields: dict[str, str]) -> None:
        """Take note of who one is, of what is free, and of what one has done oneself."""
        super().got(mode, fields)
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
