"""One attempt at a lesson: what the learner has done since it began, and what the check finds out itself.

Everything a learner requests contains the attempt's word, so no other request can pass for it; everything the
check requests contains a new word.
"""

import json
import random
import secrets
import string
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from logs.serverlogs import Line
from logs.varnishlog import Request

from . import vcl
from .errors import Missing, StartAgain
from .evidence import LAGGARDS, Answer, Ask, Evidence
from .shipped import CONFIGURATION, changed_files, shipped

SECOND = 1.1  # nginx may answer with its own copy for a second
ALIASES = ("127.0.0.1", "[", "upstage.localhost")  # of localhost; `[` begins an IPv6 address

# The check's requests are drawn from these, so that no rule can know them.
DRAWN_HOSTS = ("localhost", "upstage.localhost", "127.0.0.1")
# Of a page's query varnish/queries.vcl leaves the word alone.
DRAWN_QUERIES = (("{}",), ("{}&a=1", "page=2&{}", "a=1&{}&b=2"))
DRAWN_ENCODINGS = ("", "gzip", "gzip, deflate, br, zstd")
DRAWN_COOKIES = ("session", "sessionid", "PHPSESSID", "who", "upstage_visit", "theme2", "mytheme")
draw = random.SystemRandom().choice


def new_word() -> str:
    """A word that no URL has contained so far."""
    return "k" + secrets.token_hex(4)


def secret_word() -> str:
    """Another one, which has no form by which a rule could recognise it."""
    return draw(string.ascii_lowercase) + "".join(
        draw(string.ascii_lowercase + string.digits) for _ in range(draw(range(7, 14)))
    )


def secret_cookie() -> str:
    """The name of a cookie that is not the lesson's."""
    return draw((*DRAWN_COOKIES, secret_word()))


@dataclass
class Result:
    """An attempt that was finished."""

    began: float  # seconds since 1970
    done: float
    answers: int  # how many the learner needed for the question


@dataclass
class Attempt:
    """What is stored about an attempt (its fields), and what can be found out about it."""

    word: str
    began: float  # seconds since 1970
    counters: dict[str, int]
    started: dict[str, str]  # when each service was started
    answers: int = 0  # how many answers the learner has given to the question
    attempts: int = 1  # how many there were, with this one
    done: float = 0  # seconds since 1970
    best: Result | None = None  # of the earlier ones
    said: str = ""  # the last sentence of the check
    choices: list[str] = field(default_factory=list)  # for the question, once it is asked

    @classmethod
    def begin(cls, evidence: Evidence, earlier: "Attempt | None" = None) -> "Attempt":
        """A new attempt, after an earlier one at the same lesson."""
        counters = evidence.counters() | {LAGGARDS: evidence.laggards()}
        new = cls(new_word(), time.time(), counters, evidence.started())
        if earlier:
            new.attempts, new.best = earlier.attempts + 1, earlier.result
        return new.on(evidence)

    @classmethod
    def load(cls, file: Path, evidence: Evidence) -> "Attempt | None":
        """The attempt in a file, or None if there is no file. Raise StartAgain if the file is damaged."""
        if not file.exists():
            return None
        try:
            kept = json.loads(file.read_text())
            if kept.get("best"):
                kept["best"] = Result(**kept["best"])
            return cls(**kept).on(evidence)
        except (ValueError, TypeError, AttributeError) as error:
            raise StartAgain(f"{file} is damaged ({error}). Remove it, and begin the lesson again.") from None

    def on(self, evidence: Evidence) -> "Attempt":
        """The attempt, with the stack on which it is made."""
        self.evidence = evidence
        return self

    def save(self, file: Path) -> None:
        """Write the attempt to a file."""
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_suffix(".new")
        new.write_text(json.dumps(asdict(self), indent=1) + "\n")
        new.replace(file)

    @property
    def result(self) -> Result | None:
        """The best result so far, of this attempt or an earlier one: that with the fewest answers."""
        mine = Result(self.began, self.done, self.answers) if self.done else None
        found = [result for result in (self.best, mine) if result]
        return min(found, key=lambda result: result.answers, default=None)

    # --- What the learner has done.

    def requests(self, path: str = "", host: str = "localhost") -> list[Request]:
        """The learner's requests that Varnish has seen, oldest first; all paths unless one is given."""
        mine = [request for request in self.evidence.requests(self.word) if request.began >= self.began]
        return [request for request in mine if site(request.host) == host and request.path.startswith(path)]

    def other_hosts(self, path: str = "") -> str:
        """The hosts other than localhost from which the learner requested a path, or an empty string."""
        hosts = [one.host for one in self.evidence.requests(self.word) if one.path.startswith(path)]
        hosts += [line.host for line in self.nginx(path)]
        return " and ".join(sorted(set(map(site, hosts)) - {"localhost"}))

    def fetched(self, requests: Iterable[Request]) -> list[Line]:
        """The backend's log lines for these requests."""
        ids = {request.id for request in requests}
        return [line for line in self.evidence.backend_lines(self.word) if line.id in ids]

    def under_this_vcl(self, requests: Iterable[Request]) -> list[Request]:
        """The learner's requests after the last reload."""
        return [request for request in requests if request.vcl == self.evidence.active]

    def nginx(self, path: str = "", known: bool = False) -> list[Line]:
        """nginx's log lines for the attempt's URLs. The log of classic.localhost has another format.

        Left out, as written by hand: those with the ID of another, and if they must be `known`, those that
        Varnish has not logged under that ID.
        """
        lines = [line for line in self.evidence.nginx_lines(self.word) if line.path.startswith(path)]
        times = Counter(line.id for line in lines)
        seen = (
            {(request.id, request.url) for request in self.evidence.requests(self.word)} if known else set()
        )
        return [line for line in lines if times[line.id] == 1 and (not known or (line.id, line.url) in seen)]

    def report(self, command: str) -> dict[str, Any]:
        """The report of `make compare` or `make load` since the lesson began; empty if there is none."""
        file = self.evidence.state / command / "report.json"
        if not file.exists() or file.stat().st_mtime < self.began:
            return {}
        try:
            found: dict[str, Any] = json.loads(file.read_text())
        except ValueError:
            raise Missing(f"{file} is damaged: measure again.") from None
        return found

    def restarted(self) -> set[str]:
        """The services that have been restarted since the lesson began."""
        now = self.evidence.started()
        return {name for name, time in now.items() if self.started.get(name) != time}

    def changed(self, file: str) -> tuple[list[str], list[str]]:
        """The statements removed from and added to a file of the VCL in use, durations in seconds."""
        return vcl.changes(shipped(file), self.evidence.loaded[file])

    def newly_set(self, file: str) -> set[str]:
        """The variables that its new statements set or unset, in lower case; not their own X- headers."""
        return {
            name for name in vcl.sets(self.changed(file)[1]) if not vcl.OWN.fullmatch(name.removeprefix("be"))
        }

    def as_shipped(self, *folders: str) -> bool:
        """Whether these folders, or the configuration if none is given, are as shipped. (judging.py has
        checked that the saved files are loaded.)"""
        return not changed_files(folders or CONFIGURATION)

    # --- What the check does.

    def look_like_the_learner(self) -> None:
        """From now on, the check's requests have headers of the learner's last one; others are drawn."""
        client = self.evidence.client
        for request in self.evidence.requests(self.word)[-1:]:
            client = {name: request.header(name) for name in ("User-Agent", "Accept")}
        client |= {"Accept-Encoding": draw(DRAWN_ENCODINGS)}
        self.evidence.client = {name: value for name, value in client.items() if value}
        self.evidence.name = draw(DRAWN_HOSTS)
        self.evidence.asked = draw((0, 1))

    def ask(self, *asks: Ask, at_once: bool = False) -> "list[Probe]":
        """Make requests, one after another or all at once, and find each in Varnish's log.

        NEW in a URL becomes one secret word for all of them, ?NEW a query with it: the word alone, in every
        second call beside an argument.
        """
        word = secret_word()
        query = draw(DRAWN_QUERIES[self.evidence.asked % 2]).format(word)
        self.evidence.asked += 1
        made = [replace(ask, url=ask.url.replace("?NEW", f"?{query}").replace("NEW", word)) for ask in asks]
        answers = self.evidence.ask_at_once(made) if at_once else [self.evidence.ask(ask) for ask in made]
        seen = self.evidence.requests_by_id(answer.id for answer in answers if answer.id)
        fetched = self.evidence.backend_lines()
        probes = []
        for ask, answer in zip(made, answers, strict=True):
            found = seen.get(answer.id)
            url = found.looked_up if found else ask.url
            probes.append(Probe(ask, answer, found, [line for line in fetched if line.url == url]))
        return probes

    def wait(self, seconds: float = SECOND) -> None:
        """Wait, by default until nginx has forgotten its copies."""
        time.sleep(seconds)


@dataclass(frozen=True)
class Probe:
    """One of the check's requests: the client's view, Varnish's, and the backend's lines for the same URL."""

    ask: Ask
    answer: Answer
    seen: Request | None  # None: Varnish was not asked
    backend: list[Line]

    @property
    def outcome(self) -> str:
        """Varnish's outcome, in the words of docs/caching-rules.md; `none` if it was not asked."""
        return self.seen.outcome if self.seen else "none"

    @property
    def lifetime(self) -> int:
        """Seconds for which Varnish keeps the fetched response; 0 if it fetched none."""
        return self.seen.lifetime if self.seen else 0

    @property
    def url_sent_on(self) -> str:
        """The URL that the backend was asked for, or an empty string."""
        return self.seen.fetches[-1].all("BereqURL")[-1] if self.seen and self.seen.fetches else ""

    def sent_on(self, header: str) -> str:
        """A request header as the backend got it, or an empty string."""
        fetch = self.seen.fetches[-1:] if self.seen else []
        return "".join(one.header(header, "BereqHeader") for one in fetch)


def outcomes(probes: Iterable[Probe]) -> list[str]:
    """The outcome of each probe."""
    return [probe.outcome for probe in probes]


def site(host: str) -> str:
    """One name for a site that has several, whatever the port."""
    name = host.partition(":")[0]
    return "localhost" if name in ALIASES else name
