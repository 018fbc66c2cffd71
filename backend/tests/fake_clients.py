"""Clients of the stages without a network: they collect the frames that they are sent."""

from upstage.stage.players import Player
from upstage.stage.stage import Member
from upstage.stage.stages import Stages


class FakeClient:
    """One connection; `heard` returns the frames sent since the last call."""

    def __init__(self, stages: Stages, player: Player | None = None, stage: str = "demo") -> None:
        self.stages = stages
        self.sent: list[bytes] = []
        self.member: Member = stages.connect(self.sent.append)
        if player:
            self.send(f"MD5={stages.key_for(player)}&mode=IDENT")
        if stage:
            self.send(f"stage_ID={stage}&mode=JOIN")

    def send(self, *frames: str) -> None:
        for frame in frames:
            self.stages.receive(self.member, frame.encode())

    def heard(self) -> list[str]:
        """The frames since the last call, without the NUL bytes."""
        frames = b"".join(self.sent).decode().split("\0")[:-1]
        self.sent.clear()
        return frames

    def modes(self) -> list[str]:
        return [frame.rpartition("mode=")[2] for frame in self.heard()]

    def leave(self) -> None:
        self.stages.disconnect(self.member)


def acting_player(name: str) -> Player:
    return Player(name, can_act=True)
