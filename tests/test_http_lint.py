"""httplint, the linter behind REDbot, has no complaint about the responses of any site."""

import http.client

import pytest
from httplint import HttpRequestLinter, HttpResponseLinter, levels

from tests.stack import SITES, Stack

RESPONSES = {
    "page": ("GET", "/stages/demo", {}),
    "front page": ("GET", "/", {}),
    "private page": ("GET", "/admin/", {"Cookie": "who=me"}),
    "key": ("GET", "/admin/id", {}),
    "media": ("GET", "/media/bench/small.swf", {}),
    "part of it": ("GET", "/media/bench/small.swf", {"Range": "bytes=100-199"}),
    "no such part": ("GET", "/media/bench/small.swf", {"Range": "bytes=99999999-"}),
    "headers alone": ("HEAD", "/media/bench/small.swf", {}),
    "style": ("GET", "/style/main.css", {"Accept-Encoding": "gzip"}),
    "redirect": ("GET", "/admin", {}),
    "not found": ("GET", "/nowhere", {}),
    "not allowed": ("POST", "/media/bench/tiny.html", {}),
    "rejected method": ("PURGE", "/", {}),
    "robots": ("GET", "/robots.txt", {}),
    "icon": ("GET", "/favicon.ico", {}),
}


def complaints(stack: Stack, host: str, method: str, path: str, headers: dict[str, str]) -> list[str]:
    """Return the linter's warnings about one response.

    The linter does not learn when it arrived: on a busy machine an old Date would look like a wrong clock.
    """
    asked = HttpRequestLinter()
    asked.process_request_topline(method.encode(), stack.url(path, host).encode(), b"1.1")
    sent = {"Host": f"{host}:{stack.ports['HTTP_PORT']}", **headers}
    asked.process_headers([(name.encode(), value.encode()) for name, value in sent.items()])
    asked.finish_content(True)

    connection = http.client.HTTPConnection("127.0.0.1", stack.ports["HTTP_PORT"], timeout=20)
    connection.request(method, path, headers=sent)
    response = connection.getresponse()
    body = response.read()
    connection.close()

    linter = HttpResponseLinter(_related=asked, no_content=method == "HEAD")
    linter.process_response_topline(b"1.1", str(response.status).encode(), response.reason.encode())
    linter.process_headers([(name.encode(), value.encode()) for name, value in response.getheaders()])
    linter.feed_content(body)
    linter.finish_content(True)
    return [str(note.summary) for note in linter.notes if note.level in (levels.WARN, levels.BAD)]


@pytest.mark.parametrize("host", SITES)
@pytest.mark.parametrize("name", RESPONSES)
def test_response(stack: Stack, host: str, name: str) -> None:
    method, path, headers = RESPONSES[name]
    assert complaints(stack, host, method, path, headers) == []


def test_the_response_to_an_unknown_host(stack: Stack) -> None:
    assert complaints(stack, "nobody.example", "GET", "/", {}) == []
