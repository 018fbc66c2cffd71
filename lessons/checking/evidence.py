"""The evidence on the running stack: logs, loaded configuration, and responses to the checks' requests."""

import gzip
import http.client
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from urllib.parse import urlencode

from logs.serverlogs import Line, backend_lines, nginx_lines
from logs.varnishlog import Request, requests
from proscenium.running import REPO, NotRunning, Running, running

from .errors import StartAgain

FLUSHED = 1.2  # seconds: nginx writes its log once a second
SHOWN = re.compile(rb"^// VCL\.SHOW \d+ (\d+) (.+)\n", re.M)
BUILT_IN = "<builtin>"


@dataclass(frozen=True)
class Ask:
    """A request to send, through nginx's public port."""

    url: str
    host: str = "localhost"
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Response:
    """A response as a client sees it. Status 0 means that there was none."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)  # with names in lower case
    body: bytes = b""

    @property
    def id(self) -> str:
        """X-Request-Id, which finds the request in every log; empty if there is none."""
        return self.headers.get("x-request-id", "")


class Evidence:
    """The evidence on this checkout's stack during one command; `bin/lesson` sets the environment.

    `report` is called with the name of a step that takes time.
    """

    def __init__(self, report: Callable[[str], None] = lambda doing: None) -> None:
        self.http_port = int(os.environ["HTTP_PORT"])
        self.state = REPO / ".run" / os.environ["COMPOSE_PROJECT_NAME"]
        self.address = os.environ["BIND_ADDR"].replace("0.0.0.0", "127.0.0.1")
        self._report = report
        self._quiet_since = time.monotonic()
        self._logs: dict[str, str] = {}  # read since the last request; by service or query

    @contextmanager
    def asking(self, about: str) -> Iterator[Running]:
        """Yield the stack, for one question to it. Raise StartAgain if it does not answer."""
        self._report(f"reading {about}")
        try:
            yield running()
        except NotRunning as error:
            if "is paused" in str(error):
                raise StartAgain("A service does not answer: it is paused. docker compose ps -a") from None
            late = "CLI communication error" in str(error)  # varnishadm gives up after half a minute
            raise StartAgain("Varnish did not answer in time: try again." if late else str(error)) from None

    def _varnish(self, tool: str, *arguments: str) -> str:
        """Return the output of a tool of Varnish."""
        with self.asking(tool) as stack:
            return stack.varnish(tool, *arguments)

    def _log(self, service: str) -> list[str]:
        """Return the lines of a service's log, which is read only once between two requests."""
        if service not in self._logs:
            with self.asking(f"the log of {service}") as stack:
                self._logs[service] = stack.log(service)
        return self._logs[service].splitlines()

    def requests(self, word: str) -> list[Request]:
        """Return the requests in Varnish's log with a word in the URL, in order of arrival."""
        return self._logged(f'ReqURL ~ "{word}"')

    def requests_by_id(self, ids: Iterable[str]) -> dict[str, Request]:
        """Return the requests in Varnish's log with these X-Request-Ids; if several share one, the first.

        nginx sends another request for a large file that its workers may not read themselves.
        """
        found: dict[str, Request] = {}
        for request in self._logged(f'ReqHeader:X-Request-Id ~ "{"|".join(ids)}"'):
            found.setdefault(request.id, request)
        return found

    def purges(self) -> list[Request]:
        """Return the purges in Varnish's log, in order of arrival."""
        return self._logged('ReqMethod eq "PURGE"')

    def _logged(self, query: str) -> list[Request]:
        """Return the requests for a query: https://varnish-cache.org/docs/7.7/reference/vsl-query.html"""
        if query not in self._logs:
            self._logs[query] = self._varnish("varnishlog", "-d", "-g", "request", "-q", query)
        return sorted(requests(self._logs[query].splitlines()), key=lambda request: request.began)

    def oldest_record(self) -> float:
        """Return the time since which every Varnish's log is complete, in seconds since 1970."""
        log = self._varnish("varnishlog", "-d", "-g", "vxid", "-i", "Timestamp", "-k", "1")
        found = re.findall(r"Timestamp +\w+: ([\d.]+)", log)
        return max(map(float, found), default=time.time())

    def started(self) -> dict[str, str]:
        """Return when each service was last started and, in containers, stopped, as the engine writes it."""
        with self.asking("the services") as stack:
            return stack.started()

    def stopped(self, service: str) -> float:
        """Return when a service last stopped, in seconds since 1970; 0 if never, or in native mode."""
        _, _, when = self.started()[service].partition(" ")
        return datetime.fromisoformat(re.sub(r"(\.\d{6})\d*", r"\1", when)).timestamp() if when else 0.0

    def nginx_lines(self, word: str) -> list[Line]:
        """Return the lines of nginx's log whose URL contains a word."""
        time.sleep(max(0.0, self._quiet_since + FLUSHED - time.monotonic()))
        return [line for line in nginx_lines(self._log("nginx")) if word in line.url and line.ended]

    def backend_lines(self, word: str = "") -> list[Line]:
        """Return the lines of the backend's log whose URL contains a word."""
        return [line for line in backend_lines(self._log("backend")) if word in line.url]

    @cached_property
    def active(self) -> str:
        """Return the name of the VCL in use. Raise StartAgain if there is none."""
        found = re.search(r"^active +\S+ +\S+ +\d+ +(\S+)", self._vcls, re.M)
        if not found:
            raise StartAgain("Varnish has no VCL: make up")
        return found[1]

    @cached_property
    def _vcls(self) -> str:
        return self._varnish("varnishadm", "vcl.list")

    @cached_property
    def loaded(self) -> dict[str, str]:
        """Return the text of each file of the VCL in use: `varnish/media.vcl` ..., as `source` names it.

        Raise StartAgain.
        """
        return self._files(self.active)

    @cached_property
    def labelled(self) -> list[dict[str, str]]:
        """Return the same as `loaded` for each VCL that has a label, such as that of classic.localhost."""
        return [self._files(name) for name in re.findall(r" label .*-> (\S+)", self._vcls)]

    def _files(self, vcl: str) -> dict[str, str]:
        files = files_in(self._varnish("varnishadm", "vcl.show", "-v", vcl))
        files.pop(BUILT_IN, None)
        return files

    def passing(self, folder: str, tests: Iterable[str]) -> set[str]:
        """Return which of a folder's VTCs pass, in Varnish's container."""
        with self.asking("varnishtest") as stack:
            return set(re.findall(r" TEST (\S+) passed ", stack.varnishtest(folder, tests)))

    def nginx_is_loaded(self) -> bool:
        """Return whether the running nginx has loaded the files that are on the disk."""
        with self.asking("nginx") as stack:
            return stack.nginx_is_current()

    def ask(self, ask: Ask) -> Response:
        """Send one request over a separate connection, with the headers of curl; return the response,
        decompressed.
        """
        self._report(f"requesting {ask.url} on {ask.host}")
        connection = http.client.HTTPConnection(self.address, self.http_port, timeout=20)
        try:
            curl = {"User-Agent": "curl/8.14.1", "Accept": "*/*"}
            headers = {"Host": f"{ask.host}:{self.http_port}", **curl, **ask.headers}
            if ask.method == "POST":
                headers["Content-Length"] = "0"
            connection.putrequest(ask.method, ask.url, skip_host=True, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders()
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            body = response.read()
            if found.get("content-encoding") == "gzip" and body:
                body = gzip.decompress(body)
            return Response(response.status, found, body)
        except (OSError, http.client.HTTPException):
            return Response(0)
        finally:
            connection.close()
            self._quiet_since = time.monotonic()
            self._logs.clear()

    def metrics(self, query: str) -> list[tuple[dict[str, str], float]]:
        """Return Prometheus' (extras/observe) answer to a query: the labels and present value of each series.

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

    def ask_at_once(self, asks: Sequence[Ask], most: int = 0) -> list[Response]:
        """Send requests at the same time: all of them, or `most` at a time."""
        with ThreadPoolExecutor(most or len(asks)) as pool:
            return list(pool.map(self.ask, asks))


def source(path: str) -> str:
    """Return the file of this checkout that Varnish reads at a path, in a container or not; else the path."""
    folder, _, name = path.rpartition("/")
    for known in ("starter/varnish", "varnish"):
        written = Path(folder).parent.name in ("tmp", "generated")  # start.sh has written the file
        if folder.endswith(f"/{known}") and not written and (REPO / known / name).is_file():
            return f"{known}/{name}"
    return path


def files_in(shown: str) -> dict[str, str]:
    """Return the files in the output of `vcl.show -v`, named as by `source`, with Unix line ends."""
    text, at, files = shown.encode(), 0, {}
    while found := SHOWN.search(text, at):
        at = found.end() + int(found[1])
        files[source(found[2].decode())] = unix(text[found.end() : at].decode(errors="replace"))
    return files


def unix(text: str) -> str:
    """Return a text with Unix line ends: Windows' mean the same to Varnish and to nginx."""
    return text.replace("\r\n", "\n")
