"""A reactor without a network that runs one turn at a time, and coroutines without any."""

from collections.abc import Coroutine
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

T = TypeVar("T")


class Reactor(Clock):
    """A clock that can run one turn, like the reactor: calls made meanwhile run in the next turn."""

    def turn(self) -> None:
        due = [call for call in self.calls if call.getTime() <= self.seconds()]
        for call in due:
            self.calls.remove(call)
            call.called = 1
            call.func(*call.args, **call.kw)


def begin(coroutine: Coroutine[Deferred[Any], Any, T]) -> list[T | Failure]:
    """Run until something has to wait; the list gets the result when it is there."""
    result: list[T | Failure] = []
    Deferred.fromCoroutine(coroutine).addBoth(result.append)
    return result
