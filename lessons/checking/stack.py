"""The running stack as the checks see it: its tools, its loaded configuration, and requests to it."""

import http.client
import json
import os
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from urllib.parse import urlencode

from logs.inside import LINES, REPO, NotRunning, inside
from logs.serverlogs import Cut, Line, backend_lines, cuts, nginx_lines
from logs.varnishlog import Request, requests

CONFIGURATION = ("varnish", "nginx")  # the folders that a learner changes
AGENT = "make check"  # the User-Agent of the checks' own requests
FLUSHED = 1.2  # seconds: nginx writes its log once a second
SHOWN = re.compile(r"^// VCL\.SHOW \d+ (\d+) (\S+\.vcl)\n", re.M)  # not <builtin>


class StartAgain(Exception):
    """The attempt cannot be judged: the stack has changed, or the log no longer has the beginning."""


@dataclass(frozen=True)
class Ask:
    """A request to make, through nginx's public port."""

    url: str
    host: str = "localhost"
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What a client sees of a response. Status 0 means that there was none."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)  # names in lower case
    body: bytes = b""


class Stack:
    """The stack of this checkout, in either mode; `bin/lesson` has set the environment."""

    def __init__(self) -> None:
        self.http_port = int(os.environ["HTTP_PORT"])
        self.state = REPO / ".run" / os.environ["COMPOSE_PROJECT_NAME"]
        self.address = os.environ["BIND_ADDR"].replace("0.0.0.0", "127.0.0.1")
        self._quiet_since = time.monotonic()
        self._logs: dict[tuple[str, ...], str] = {}  # what was read since then

    def tool(self, *arguments: str) -> str:
        """What `bin/inside` prints. Raise StartAgain with its message if it fails."""
        try:
            return inside(*arguments)
        except NotRunning as error:
            raise StartAgain(str(error)) from None

    def _log(self, *arguments: str) -> str:
        """What `tool` prints, read only once between two requests."""
        if arguments not in self._logs:
            self._logs[arguments] = self.tool(*arguments)
        return self._logs[arguments]

    def requests(self, word: str) -> list[Request]:
        """The requests in Varnish's log with a word in the URL or in X-Probe, in order of arrival."""
        return self._logged(f'ReqURL ~ "{word}" or ReqHeader:X-Probe ~ "{word}"')

    def purges(self) -> list[Request]:
        """The purges in Varnish's log, in order of arrival."""
        return self._logged('ReqMethod eq "PURGE"')

    def _logged(self, query: str) -> list[Request]:
        """https://varnish-cache.org/docs/7.7/reference/vsl-query.html has the language of the query."""
        log = self._log("varnishlog", "-d", "-g", "request", "-q", query)
        return sorted(requests(log.splitlines()), key=lambda request: request.began)

    def oldest_record(self) -> float:
        """The time of the oldest request that the log of every Varnish still has, in seconds since 1970."""
        log = self.tool("varnishlog", "-d", "-g", "vxid", "-i", "Timestamp", "-k", "1")
        found = re.findall(r"Timestamp +\w+: ([\d.]+)", log)
        return max(map(float, found), default=time.time())

    def counters(self) -> dict[str, int]:
        """Varnish's counters: `MAIN.cache_hit` ... The sums, if there are several."""
        total = Counter[str]()
        for varnish in json.loads("[{}]".format(self.tool("varnishstat", "-j").replace("}\n{", "},{"))):
            total.update({name: counter["value"] for name, counter in varnish["counters"].items()})
        return total

    def started(self) -> dict[str, str]:
        """When each service was last started, in the form that the engine uses."""
        return dict(line.split(maxsplit=1) for line in self.tool("started").splitlines())

    def nginx_lines(self, word: str) -> list[Line]:
        """The lines of nginx's log whose URL contains a word."""
        time.sleep(max(0.0, self._quiet_since + FLUSHED - time.monotonic()))
        log = self._log("log", "nginx", LINES)
        return [line for line in nginx_lines(log.splitlines()) if word in line.url]

    def backend_lines(self, word: str = "") -> list[Line]:
        """The lines of the backend's log whose URL contains a word."""
        log = self._log("log", "backend", LINES)
        return [line for line in backend_lines(log.splitlines()) if word in line.url]

    def cut_off(self) -> list[Cut]:
        """The stage clients that the backend has disconnected."""
        return list(cuts(self._log("log", "backend", LINES).splitlines()))

    @cached_property
    def active(self) -> str:
        """The name of the VCL in use. Raise StartAgain if there is none."""
        found = re.search(r"^active\s.*\s(default_\S+)", self.tool("varnishadm", "vcl.list"), re.M)
        if not found:
            raise StartAgain("Varnish has no VCL: make up")
        return found[1]

    @cached_property
    def loaded(self) -> dict[str, str]:
        """The text of each file of the VCL in use, by name."""
        text = self.tool("varnishadm", "vcl.show", "-v", self.active)
        files = {}
        for found in SHOWN.finditer(text):
            begin, size = found.end(), int(found[1])
            files[Path(found[2]).name] = text[begin : begin + size]
        return files

    def nginx_is_loaded(self) -> bool:
        """Whether the running nginx has the files that are on the disk."""
        try:
            self.tool("nginx-loaded")
        except StartAgain:
            return False
        return True

    def ask(self, ask: Ask) -> Answer:
        """Make one request over a separate connection."""
        connection = http.client.HTTPConnection(self.address, self.http_port, timeout=20)
        try:
            headers = {"Host": f"{ask.host}:{self.http_port}", "User-Agent": AGENT, **ask.headers}
            connection.request(ask.method, ask.url, headers=headers)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())
        except (OSError, http.client.HTTPException):
            return Answer(0)
        finally:
            connection.close()
            self._quiet_since = time.monotonic()
            self._logs.clear()

    def metrics(self, query: str) -> list[tuple[dict[str, str], float]]:
        """What Prometheus (extras/observe) answers to a query: the labels and the value of each series, now.

        Raise StartAgain if it does not answer.
        """
        port = int(os.environ["OBSERVE_PORT"])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)  # whatever BIND_ADDR is
        try:
            connection.request("GET", "/api/v1/query?" + urlencode({"query": query}))
            found = json.loads(connection.getresponse().read())["data"]["result"]
            return [(series["metric"], float(series["value"][1])) for series in found]
        except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError) as error:
            raise StartAgain(
                f"Prometheus does not answer on port {port} of this machine ({error!r})."
            ) from None
        finally:
            connection.close()

    def ask_at_once(self, asks: Sequence[Ask]) -> list[Answer]:
        """Make requests side by side."""
        with ThreadPoolExecutor(len(asks)) as pool:
            return list(pool.map(self.ask, asks))


def shipped(path: str) -> str:
    """The shipped version of a file. Raise StartAgain if there is none, or if this is not a Git checkout."""
    done = subprocess.run(
        ["git", "show", f"HEAD:{path}"], cwd=REPO, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise StartAgain(done.stderr.strip())
    return done.stdout


def changed_files(folders: Iterable[str]) -> list[str]:
    """The files in these folders that differ from the shipped ones, including new files."""
    done = subprocess.run(
        ["git", "status", "--porcelain", "--untracked-files=all", "--", *folders],
        cwd=REPO,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise StartAgain(done.stderr.strip())
    return [line[3:] for line in done.stdout.splitlines()]
