"""Long polls: requests that stay open until their response is ready."""

from collections.abc import Callable
from typing import TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure
from twisted.web.server import NOT_DONE_YET

from upstage.web.request import SiteRequest

T = TypeVar("T")


def wait_for(
    request: SiteRequest, ready: Deferred[T], render: Callable[[SiteRequest, T], bytes | int]
) -> int:
    """Respond with `render(request, value)` when `ready` fires; cancel `ready` if the client disconnects."""

    def left(_: Failure) -> None:
        ready.cancel()

    def answer(value: T) -> None:
        body = render(request, value)
        if isinstance(body, bytes):
            request.answer(body)

    def failed(reason: Failure) -> None:
        if not reason.check(CancelledError):
            request.processingFailed(reason)

    request.notifyFinish().addErrback(left)
    ready.addCallback(answer).addErrback(failed)
    return NOT_DONE_YET
