"""A reactor without a network that runs one turn at a time."""

from twisted.internet.task import Clock


class Reactor(Clock):
    """A clock that can run one turn, like the reactor: calls made meanwhile run in the next turn."""

    def turn(self) -> None:
        due = [call for call in self.calls if call.getTime() <= self.seconds()]
        for call in due:
            self.calls.remove(call)
            call.called = 1
            call.func(*call.args, **call.kw)
