"""A request as a tree of spans, from the logs of nginx, Varnish and the backend.

`make trace` prints it, the live page draws it, and a collector of OpenTelemetry gets it. Times are in seconds
since 1970, as the logs have them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .explaining import BY_NGINX, answered, by_varnish, kept, stored
from .serverlogs import Line
from .varnishlog import Request, Transaction

# What a fetch is for, by the word in its record `Begin`.
FETCHES = {"bgfetch": "fetch in the background", "pass": "fetch for this client", "retry": "fetch again"}
WIDTH = 40  # columns of the bars that `lines` draws


@dataclass
class Span:
    """One piece of work of a server, and the work that it caused. `id`: a `span-id` of the W3C."""

    service: str
    name: str
    began: float
    ended: float
    id: str
    facts: dict[str, str | int] = field(default_factory=dict)  # OpenTelemetry's names, and ours
    failed: bool = False
    behind: bool = False  # its parent did not wait for it
    spans: list["Span"] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # why it did what it did, for people

    def walk(self, depth: int = 0) -> Iterator[tuple[int, "Span"]]:
        """This span and all below it, in the order of their beginnings, each with its depth."""
        yield depth, self
        for span in sorted(self.spans, key=lambda each: (each.began, -each.ended)):
            yield from span.walk(depth + 1)


def tree(line: Line, seen: Iterable[Request], backend: Iterable[Line]) -> Span:
    """The tree of a request: nginx's line, which has its times, above what Varnish and the backend logged."""
    assert line.ended is not None
    assert line.seconds is not None
    facts: dict[str, str | int] = {
        "http.request.method": line.method,
        "server.address": line.host,
        "url.path": line.path,
        "http.response.status_code": line.status,
        "proscenium.answered": line.answered,
    }
    if why := BY_NGINX.get(line.answered):
        facts["proscenium.why"] = why
    began = line.ended - line.seconds
    id, failed = line.span or line.id[-16:], line.status >= 500
    root = Span("nginx", line.method, began, line.ended, id, facts, failed)
    root.notes = [why] if why else []
    root.spans = [in_varnish(request) for request in seen]
    alone = attach([root], backend)
    if not line.span:  # the access log has none: pages that no other span asked for are put below the root
        root.spans += alone
    return root


def attach(roots: Iterable[Span], backend: Iterable[Line]) -> list[Span]:
    """Put each page of the backend below the span that asked for it; return those without such a span."""
    made = {span.id: span for root in roots for _, span in root.walk()}
    alone: list[Span] = []
    for line in backend:
        page = in_backend(line)
        (made[line.parent].spans if line.parent in made else alone).append(page)
    return alone


def in_varnish(request: Request) -> Span:
    """A request in Varnish: its restarts, its fetches, and the parts of its page. What a transaction caused
    stands below it.
    """
    by_number: dict[int, Span] = {}
    top = by_number[request.client.xid] = _transaction(request.client, request.outcome)
    top.ended = max(top.ended, request.ended)
    top.failed = request.status >= 500
    top.facts["http.response.status_code"] = request.status
    reasons = by_varnish(request)
    if reasons:
        top.facts["proscenium.why"] = "; ".join(reasons)
    top.notes = [reason for reason in reasons if reason != kept(request)]  # the fetch says this more exactly
    if request.outcome == "hit" and request.remaining > 0:
        top.notes.insert(0, f"a copy that stays fresh for {request.remaining:.0f} s")
    for each in request.restarts:
        by_number[each.xid] = _transaction(each, "restart")
        top.spans.append(by_number[each.xid])
    for each in request.fetches:
        span = by_number[each.xid] = _transaction(each, FETCHES.get(each.reason, "fetch"))
        status = int((each.all("BerespStatus") or ["0"])[0])
        span.failed = status >= 500 or bool(each.all("FetchError"))
        span.behind = each.reason == "bgfetch"
        if status:
            span.facts["http.response.status_code"] = status
        if status == 304:
            span.name += ": not modified"
        if why := "; ".join(dict.fromkeys(each.all("FetchError"))):
            span.facts["error.message"] = why
        rules = [rule for rule in each.rules if rule not in reasons]
        span.notes = [note for note in (answered(each), why, stored(request, each), *rules) if note]
        by_number.get(each.caused_by, top).spans.append(span)
    top.spans += [in_varnish(part) for part in request.parts]
    return top


def _transaction(transaction: Transaction, name: str) -> Span:
    """Return a transaction, and below it what it waited for: another request's fetch of the same object."""
    span = Span("varnish", name, transaction.began, transaction.ended, f"{transaction.xid:016d}")
    for stamp in transaction.all("Timestamp"):
        event, at, _, since = stamp.split()
        if event == "Waitinglist:":
            ended = float(at)
            span.spans.append(Span("varnish", "wait", ended - float(since), ended, _below(span.id, 15)))
    return span


def in_backend(line: Line) -> Span:
    """Return the span of a page of the backend, and below it what the page waited for: its turn, the
    database."""
    assert line.ended is not None
    assert line.seconds is not None
    began, parent = line.ended - line.seconds, line.parent or line.id[-16:]
    page = Span("backend", "page", began, line.ended, _below(parent, 1), failed=line.status >= 500)
    page.facts["http.response.status_code"] = line.status
    for place, (name, (first, last)) in enumerate(line.steps.items(), start=2):
        step = Span("backend", name, began + first / 1000, began + last / 1000, _below(parent, place))
        page.spans.append(step)
    return page


def _below(id: str, place: int) -> str:
    """Return an id for a span that has none in the logs: the id of the span above it, with another first
    digit."""
    return f"{int(id, 16) ^ place << 60:016x}"


def lines(root: Span) -> Iterator[str]:
    """The tree as text: what, a bar on the time of the whole, when it began and how long it took; and why."""
    all = list(root.walk())
    end = max(span.ended for _, span in all)
    scale = WIDTH / max(end - root.began, 0.001)
    for depth, span in all:
        left = min(max(round((span.began - root.began) * scale), 0), WIDTH - 1)
        length = min(max(round((span.ended - span.began) * scale), 1), WIDTH - left)
        bar = (" " * left + ("░" if span.behind else "█") * length).ljust(WIDTH)
        what = f"{'  ' * depth}{span.service} {span.name}" + (" (failed)" if span.failed else "")
        took = f"{(span.ended - span.began) * 1000:.1f} ms"
        yield f"{what:<44} {bar} {(span.began - root.began) * 1000:>9.1f} {took:>11}"
        yield from (f"{'  ' * depth}    {note}" for note in span.notes)
