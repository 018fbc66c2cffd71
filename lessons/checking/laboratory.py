"""The facts about an attempt: what the learner has done, and what a check tries itself.

Every URL that a learner requests contains the attempt's word, so no other request can pass for it; every URL
that the check requests contains a new word.
"""

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from logs.serverlogs import Line
from logs.varnishlog import Request

from .attempt import Attempt, new_word
from .errors import Missing
from .evidence import Ask, Evidence, Response
from .shipped import CONFIGURATION, changed_files

SECOND = 1.1  # seconds; nginx may answer with its own copy for one second
ALIASES = ("127.0.0.1", "[", "upstage.localhost")  # of localhost; `[` is the beginning of an IPv6 address


class Laboratory:
    """An attempt, and the stack on which it is made."""

    def __init__(self, attempt: Attempt, evidence: Evidence) -> None:
        self.word, self.began, self.started = attempt.word, attempt.began, attempt.started
        self.evidence = evidence

    # --- What the learner has done.

    def requests(self, path: str = "", host: str = "localhost") -> list[Request]:
        """Return the learner's requests that Varnish has seen, oldest first; for all paths, or for one."""
        mine = [request for request in self.evidence.requests(self.word) if request.began >= self.began]
        return [request for request in mine if site(request.host) == host and request.path.startswith(path)]

    def other_hosts(self, path: str = "") -> str:
        """Return the hosts other than localhost on which the learner requested a path, or an empty string."""
        hosts = [one.host for one in self.evidence.requests(self.word) if one.path.startswith(path)]
        hosts += [line.host for line in self.nginx(path)]
        return " and ".join(sorted(set(map(site, hosts)) - {"localhost"}))

    def fetched(self, requests: Iterable[Request]) -> list[Line]:
        """Return the backend's log lines for these requests."""
        ids = {request.id for request in requests}
        return [line for line in self.evidence.backend_lines(self.word) if line.id in ids]

    def under_this_vcl(self, requests: Iterable[Request]) -> list[Request]:
        """Return the requests, among these, that came after the last reload."""
        return [request for request in requests if request.vcl == self.evidence.active]

    def nginx(self, path: str = "") -> list[Line]:
        """Return nginx's log lines for the attempt's URLs; classic.localhost's log has another format."""
        return [line for line in self.evidence.nginx_lines(self.word) if line.path.startswith(path)]

    def report(self, command: str) -> dict[str, Any]:
        """Return the report of `make compare` or `make load` since the lesson began; empty without one."""
        file = self.evidence.state / command / "report.json"
        if not file.exists() or file.stat().st_mtime < self.began:
            return {}
        try:
            found: dict[str, Any] = json.loads(file.read_text())
        except ValueError:
            raise Missing(f"{file} is damaged: measure again.") from None
        return found

    def restarted(self) -> set[str]:
        """Return the services that have been restarted since the lesson began."""
        now = self.evidence.started()
        return {name for name, time in now.items() if self.started.get(name) != time}

    def changed(self, file: str) -> bool:
        """Return whether the learner has changed a file; judging.py has checked that it is loaded."""
        return not self.as_shipped(file)

    def as_shipped(self, *folders: str) -> bool:
        """Return whether these files and folders, or without any the whole configuration, are as shipped."""
        return not changed_files(folders or CONFIGURATION)

    # --- What the check does.

    def ask(self, *asks: Ask, at_once: bool = False) -> "list[Probe]":
        """Send requests, one after another or all at once, and find each in Varnish's log.

        NEW in a URL is replaced by one new word in all of them.
        """
        word = new_word()
        made = [replace(ask, url=ask.url.replace("NEW", word)) for ask in asks]
        responses = self.evidence.ask_at_once(made) if at_once else [self.evidence.ask(ask) for ask in made]
        seen = self.evidence.requests_by_id(response.id for response in responses if response.id)
        fetched = self.evidence.backend_lines()
        probes = []
        for ask, response in zip(made, responses, strict=True):
            found = seen.get(response.id)
            url = found.looked_up if found else ask.url
            probes.append(Probe(ask, response, found, [line for line in fetched if line.url == url]))
        return probes

    def wait(self, seconds: float = SECOND) -> None:
        """Wait, by default until nginx has dropped its copies."""
        time.sleep(seconds)


@dataclass(frozen=True)
class Probe:
    """One of the check's requests: the client's view, Varnish's, and the backend's lines for the URL."""

    ask: Ask
    response: Response
    seen: Request | None  # None: no request reached Varnish
    backend: list[Line]

    @property
    def outcome(self) -> str:
        """Varnish's outcome, in the words of docs/caching-rules.md; `none` if Varnish was not asked."""
        return self.seen.outcome if self.seen else "none"

    @property
    def lifetime(self) -> int:
        """The seconds for which Varnish keeps the fetched response; 0 if it fetched none."""
        return self.seen.lifetime if self.seen else 0

    @property
    def url_sent_on(self) -> str:
        """Return the URL that the backend got, or an empty string."""
        return self.seen.fetches[-1].all("BereqURL")[-1] if self.seen and self.seen.fetches else ""

    def sent_on(self, header: str) -> str:
        """Return a request header as the backend got it, or an empty string."""
        fetch = self.seen.fetches[-1:] if self.seen else []
        return "".join(one.header(header, "BereqHeader") for one in fetch)


def outcomes(probes: Iterable[Probe]) -> list[str]:
    """Return the outcome of each probe."""
    return [probe.outcome for probe in probes]


def site(host: str) -> str:
    """Return one name for a site that has several, whatever the port."""
    name = host.partition(":")[0]
    return "localhost" if name in ALIASES else name
