"""A company of players and an audience in one house, without a network: who is sent what."""

from upstage.house import House
from upstage.members import Member, Player


class Guest:
    """One connection; `frames` are what it has been sent and nobody has asked for yet, as text."""

    def __init__(self, house: House, player: Player | None = None, stage: str = "demo") -> None:
        self.house = house
        self.sent: list[bytes] = []
        self.member: Member = house.connect(self.sent.append)
        if player:
            self.send(f"MD5={house.key_for(player)}&mode=IDENT")
        if stage:
            self.send(f"stage_ID={stage}&mode=JOIN")

    def send(self, *frames: str) -> None:
        for frame in frames:
            self.house.receive(self.member, frame.encode())

    def heard(self) -> list[str]:
        """What came since the last time, without the NUL bytes."""
        frames = [frame[:-1].decode() for frame in self.sent]
        self.sent.clear()
        return frames

    def modes(self) -> list[str]:
        return [frame.rpartition("mode=")[2] for frame in self.heard()]

    def leave(self) -> None:
        self.house.disconnect(self.member)


def actor(name: str) -> Player:
    return Player(name, can_act=True)
