"""A player on the stage: takes an avatar, walks, speaks and draws."""

import random
from collections.abc import Iterator
from typing import Any

from users.connection import StageError
from users.session import StageSession

POINTS = 20  # points of a stroke
BETWEEN_POINTS = 0.05  # seconds: 20 frames a second, a third of what the stage accepts from one client
LAYER = "3"


class PlayerSession(StageSession):
    """A player's session, with three more rows, which end when the stage sends the change to every client:

    avatar   from the request for a free avatar
    move     from a step
    draw     from the last point of a stroke
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.avatar = ""  # ID of the avatar in hand
        self._acts = False  # whether it may have changed the stage
        self._me = ""  # its ID, sock_N
        self._free: list[str] = []  # IDs of avatars
        self._places: dict[str, tuple[str, str]] = {}  # ID of an avatar -> its place before this session

    def actions(self) -> Iterator[float]:
        """Take an avatar if one is free; then walk, speak and draw in turn."""
        self._acts = True
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
            if self._acts:
                self.send("DRAW_CLEAR", layer=LAYER)
                if self.avatar in self._places:
                    x, y = self._places[self.avatar]
                    self.send("MOVE", X=x, Y=y)
                elif self.avatar:
                    self.send("EXIT", ID=self.avatar)
                # Closing a connection with unread data resets it, and the stage could lose these frames. The
                # stage replies to INFO after it has read them all.
                self.send("INFO")
                self.wait_for("MSG")
        except StageError:
            pass
        finally:
            super().leave()

    def walk(self) -> None:
        """Take one step to a random place."""
        x, y = f"{random.randint(1, 224)}.0", f"{random.randint(1, 188)}.0"
        self.expect("move", "AV_POS", self.avatar, x, y)
        self.send("MOVE", X=x, Y=y)

    def stroke(self) -> Iterator[float]:
        """Draw a horizontal line across the stage, at the speed of a hand."""
        self.send("DRAW_CLEAR", layer=LAYER)
        y = str(random.randint(1, 188))
        self.send("DRAW_MOVE", x="1", y=y)
        for x in range(10, 10 * POINTS, 10):
            yield BETWEEN_POINTS
            if x == 10 * POINTS - 10:
                self.expect("draw", "DRAW_LINE", LAYER, str(x), y)
            self.send("DRAW_LINE", x=str(x), y=y)

    def received(self, mode: str, fields: dict[str, str]) -> None:
        """Note this client's ID, the free avatars, and the echoes of its own actions."""
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
