"""A reactor and a thread that run one turn at a time, without a network; and coroutines without a reactor."""

from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from itertools import count
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


class Worker:
    """A thread that does its work when it is told to."""

    def __init__(self) -> None:
        self.waiting: deque[tuple[Deferred[Any], Callable[[], object]]] = deque()

    def run(self, work: Callable[..., object], *arguments: object) -> Deferred[Any]:
        self.waiting.append((Deferred(), partial(work, *arguments)))
        return self.waiting[-1][0]

    def turn(self) -> None:
        """Do the oldest piece of work, and fire its Deferred."""
        deferred, work = self.waiting.popleft()
        try:
            result = work()
        except Exception:
            deferred.errback()
        else:
            deferred.callback(result)


def ticking(step: float) -> Callable[[], float]:
    """Return a clock that advances by `step` seconds at each call."""
    ticks = count()
    return lambda: next(ticks) * step


def begin(coroutine: Coroutine[Deferred[Any], Any, T]) -> list[T | Failure]:
    """Run a coroutine until it has to wait; the returned list gets the result when there is one."""
    result: list[T | Failure] = []
    Deferred.fromCoroutine(coroutine).addBoth(result.append)
    return result
