"""A request as a tree of spans, from the logs of nginx, Varnish and the backend.

`make trace` prints it, the live page draws it, and an OpenTelemetry collector gets it. Times are in seconds
since 1970, as in the logs.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .explaining import BY_NGINX, answered, by_varnish, kept, stored
from .serverlogs import Line
from .varnishlog import Request, Transaction

# The purpose of a fetch, by the word in its record `Begin`.
FETCHES = {"bgfetch": "fetch in the background", "pass": "fetch for this client", "retry": "fetch again"}
WIDTH = 40  # columns of the bars that `lines` draws


@dataclass
class Span:
    """A piece of a server's work, and the pieces that it caused. `id`: a `span-id` of the W3C."""

    service: str
    name: str
    began: float
    ended: float
    id: str
    facts: dict[str, str | int] = field(default_factory=dict)  # names of OpenTelemetry, and our own
    failed: bool = False
    behind: bool = False  # whether its parent did not wait for it
    spans: list["Span"] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # the reasons for its outcome, for people

    def walk(self, depth: int = 0) -> Iterator[tuple[int, "Span"]]:
        """Yield this span and all below it, in the order of their beginnings, each with its depth."""
        yield depth, self
        for span in sorted(self.spans, key=lambda each: (each.began, -each.ended)):
            yield from span.walk(depth + 1)


def tree(line: Line, seen: Iterable[Request], backend: Iterable[Line]) -> Span:
    """Return a request's tree: nginx's line, which gives its times, above the records of other servers."""
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
    if not line.span:  # the access log has no spans: pages without a parent span are put below the root
        root.spans += alone
    return root


def attach(roots: Iterable[Span], backend: Iterable[Line]) -> list[Span]:
    """Put each page of the backend below the span that requested it; return the pages without such a span."""
    made = {span.id: span for root in roots for _, span in root.walk()}
    alone: list[Span] = []
    for line in backend:
        page = in_backend(line)
        (made[line.parent].spans if line.parent in made else alone).append(page)
    return alone


def in_varnish(request: Request) -> Span:
    """Return a request in Varnish: its restarts, its fetches, and the parts of its page. Below each
    transaction are the transactions that it caused.
    """
    by_number: dict[int, Span] = {}
    top = by_number[request.client.xid] = _transaction(request.client, request.outcome)
    top.ended = max(top.ended, request.ended)
    top.failed = request.status >= 500
    top.facts["http.response.status_code"] = request.status
    reasons = by_varnish(request)
    if reasons:
        top.facts["proscenium.why"] = "; ".join(reasons)
    top.notes = [reason for reason in reasons if reason != kept(request)]  # the fetch's own is more exact
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
    """Return a transaction, with its wait below it: for another request's fetch of the same object."""
    span = Span("varnish", name, transaction.began, transaction.ended, f"{transaction.xid:016d}")
    for stamp in transaction.all("Timestamp"):
        event, at, _, since = stamp.split()
        if event == "Waitinglist:":
            ended = float(at)
            span.spans.append(Span("varnish", "wait", ended - float(since), ended, _below(span.id, 15)))
    return span


def in_backend(line: Line) -> Span:
    """Return the span of a page of the backend, with its waits below it: for its turn, for the database."""
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
    """Return an ID for a span without one in the logs: the ID of the span above it, with a different first
    digit.
    """
    return f"{int(id, 16) ^ place << 60:016x}"


def lines(root: Span) -> Iterator[str]:
    """Yield the tree as text: each span's name, a bar, its beginning and its duration; then the reasons."""
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
