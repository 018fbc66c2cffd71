"""Varnish's log in shared memory, as `varnishlog -g request` prints it; no header can forge its lines.

https://varnish-cache.org/docs/7.7/reference/vsl.html
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

# A line begins with its depth: **, or *4* from the fourth level on.
HEAD = re.compile(r"^\*[*\d]*\s+<< (\w+)\s+>> (\d+)")
RECORD = re.compile(r"^-[-\d]*\s+(\w+)\s*(.*)$")


@dataclass
class Transaction:
    """One request or fetch: its records, in the order in which they were written."""

    kind: str  # Request or BeReq
    xid: int
    records: list[tuple[str, str]] = field(default_factory=list)

    def all(self, tag: str) -> list[str]:
        """Return the values of all records of a kind."""
        return [value for name, value in self.records if name == tag]

    def first(self, tag: str) -> str:
        """Return the value of the first record of a kind, or an empty string."""
        return next(iter(self.all(tag)), "")

    def header(self, name: str, tag: str = "ReqHeader") -> str:
        """Return a header as it arrived, or an empty string; VCL may have changed it later."""
        for value in self.all(tag):
            found, _, text = value.partition(":")
            if found.lower() == name.lower():
                return text.strip()
        return ""

    @property
    def reason(self) -> str:
        """Why the transaction began: rxreq, restart, fetch, pass, bgfetch or esi."""
        return self.first("Begin").split()[2]

    @property
    def caused_by(self) -> int:
        """The number of the transaction that caused this one; for a client's request, its connection's."""
        return int(self.first("Begin").split()[1])

    @property
    def calls(self) -> list[str]:
        """The VCL subroutines that ran, such as RECV, HASH, HIT, DELIVER."""
        return self.all("VCL_call")

    @property
    def rules(self) -> list[str]:
        """The rules of the VCL that decided, as they log themselves: std.log("rule: ...")."""
        return [value[6:] for value in self.all("VCL_Log") if value.startswith("rule: ")]

    @property
    def began(self) -> float:
        """When it began, in seconds since 1970."""
        return float(self.first("Timestamp").split()[1])

    @property
    def ended(self) -> float:
        """When it ended, in seconds since 1970."""
        return float(self.all("Timestamp")[-1].split()[1])

    @property
    def last_ttl(self) -> list[str]:
        """The words of the last TTL record, such as VCL 120 10 0 1795317222 cacheable; perhaps none."""
        return (self.all("TTL") or [""])[-1].split()

    def until(self, event: str) -> float | None:
        """Return the seconds from the beginning to an event such as Beresp or Resp; None without it."""
        for value in self.all("Timestamp"):
            if value.startswith(f"{event}: "):
                return float(value.split()[2])
        return None


@dataclass
class Request:
    """A client's request with the fetches that it caused."""

    client: Transaction
    restarts: list[Transaction] = field(default_factory=list)
    fetches: list[Transaction] = field(default_factory=list)
    parts: list["Request"] = field(default_factory=list)  # parts of a page that Varnish assembles (ESI)

    @property
    def last(self) -> Transaction:
        """The transaction whose response was sent."""
        return (self.restarts or [self.client])[-1]

    @property
    def method(self) -> str:
        """The method as the client sent it."""
        return self.client.first("ReqMethod")

    @property
    def url(self) -> str:
        """The URL as the client sent it."""
        return self.client.first("ReqURL")

    @property
    def looked_up(self) -> str:
        """The URL as the VCL has changed it: a part of the cache key."""
        return self.client.all("ReqURL")[-1]

    @property
    def path(self) -> str:
        """The URL without its query."""
        return self.url.partition("?")[0]

    @property
    def host(self) -> str:
        """The host in lower case, without a port."""
        return self.header("Host").lower().partition(":")[0]

    def header(self, name: str) -> str:
        """Return a request header as it arrived, or an empty string."""
        return self.client.header(name)

    @property
    def began(self) -> float:
        """When the request arrived, in seconds since 1970."""
        return self.client.began

    @property
    def answered(self) -> float:
        """When the response was ready to be sent, in seconds since 1970.

        The end of sending (Resp) is not used: Varnish may log it after the client's next request.
        """
        ready = [value for value in self.last.all("Timestamp") if not value.startswith("Resp:")]
        return float(ready[-1].split()[1])

    def after(self, other: "Request") -> bool:
        """Return whether this request arrived after the other one was answered.

        Among simultaneous requests, the one that fetches may begin later than one that waits for the fetch.
        """
        return self.began > other.answered

    @property
    def ended(self) -> float:
        """When the response was sent, in seconds since 1970."""
        return self.last.ended

    @property
    def waited(self) -> bool:
        """Whether the request waited for another one's fetch."""
        return any(value.startswith("Waitinglist:") for value in self.last.all("Timestamp"))

    @property
    def vcl(self) -> str:
        """The name of the VCL that was in use when the request arrived."""
        return self.client.first("VCL_use").split()[0]

    @property
    def status(self) -> int:
        """The status that Varnish sent; if there are several, the last."""
        return int((self.last.all("RespStatus") or ["0"])[-1])

    @property
    def body_sent(self) -> int:
        """The bytes of the response's body."""
        return int((self.last.first("ReqAcct") or "0 0 0 0 0 0").split()[4])

    @property
    def id(self) -> str:
        """X-Request-Id, which finds the request in every log."""
        return self.header("X-Request-Id")

    @property
    def connection(self) -> str:
        """The number of the connection over which the request arrived."""
        return str(self.client.caused_by)

    @property
    def remaining(self) -> float:
        """The seconds for which the served copy was still fresh, below zero for a stale copy. Raise
        IndexError if no copy was served.
        """
        return float(self.last.first("Hit").split()[1])

    @property
    def stored(self) -> list[str]:
        """The last TTL record of the fetch; empty if no response was fetched or stored."""
        found = self.fetches[-1].last_ttl if self.fetches else []
        return found if found[-1:] == ["cacheable"] else []

    @property
    def lifetime(self) -> int:
        """The seconds for which the fetched response is kept, after all rules; 0 if none was stored."""
        return int(self.stored[1]) if self.stored else 0

    @property
    def grace(self) -> int:
        """The seconds for which the copy may be served stale after its lifetime; 0 for never."""
        return int(self.stored[2]) if self.stored else 0

    @property
    def outcome(self) -> str:
        """hit, stale, miss, hit-for-miss, pass, pipe, error or synth, from the steps of the VCL that ran.

        The outcome is `refused` if no step ran, because the request is malformed.
        """
        last = self.last
        if "SYNTH" in last.calls:
            return "error" if self.status == 503 else "synth"
        if "HIT" in last.calls:
            return "stale" if self.remaining < 0 else "hit"
        if "MISS" in last.calls:
            return "hit-for-miss" if last.all("HitMiss") else "miss"
        return next((step.lower() for step in ("PASS", "PIPE", "RECV") if step in last.calls), "refused")

    @property
    def found_sick(self) -> bool:
        """Whether a fetch of the request, perhaps in the background, was skipped: the health check failed."""
        return any(text.endswith(": unhealthy") for fetch in self.fetches for text in fetch.all("FetchError"))

    @property
    def object(self) -> int:
        """The ID of the fetch that stored the served object; 0 if no object was served."""
        if hit := self.last.first("Hit"):
            return int(hit.split()[0])
        return self.fetches[-1].xid if self.fetches else 0


def requests(log: Iterable[str]) -> list[Request]:
    """Return the requests in the output of `varnishlog -g request`.

    The record `Begin` of a transaction names the one that caused it. (The depth alone is not enough: the
    second attempt at a request is printed at the depth of the first.)
    """
    found: list[Request] = []
    caused: dict[int, Request] = {}  # number of a transaction -> the request to which it belongs
    transaction: Transaction | None = None
    for line in log:
        if head := HEAD.match(line):
            transaction = Transaction(head[1], int(head[2]))
        elif transaction and (record := RECORD.match(line)):
            transaction.records.append((record[1], record[2]))
            if record[1] == "Begin":
                owner = caused.get(transaction.caused_by)
                if transaction.kind == "Request" and (owner is None or transaction.reason == "esi"):
                    request = Request(transaction)
                    (owner.parts if owner else found).append(request)
                    owner = request
                elif owner and transaction.kind == "Request":
                    owner.restarts.append(transaction)
                elif owner:
                    owner.fetches.append(transaction)
                else:  # a fetch whose request is no longer in the log
                    continue
                caused[transaction.xid] = owner
    return found
