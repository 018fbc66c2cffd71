"""Oversized requests and odd fields, and the response of a failing page. (HTTP itself: test_messages.py.)"""

import re
from http.client import HTTPConnection
from pathlib import Path

import pytest

from running_backend import FORM, Backend, ask
from support.http import exchange


def test_a_redirect_without_a_host_gets_400(server: Backend) -> None:
    answer = exchange(("127.0.0.1", server.web_port), b"GET /admin HTTP/1.0\r\n\r\n")
    assert answer.status == 400
    assert "location" not in answer.headers


@pytest.mark.parametrize("chunked", [False, True])
def test_a_large_body_is_rejected_without_being_kept(server: Backend, chunked: bool) -> None:
    # Reset the peak to the present value: at the start, Argon2 has used as much memory as this body takes.
    Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")
    before = peak_memory(server)
    size = 16 << 20
    connection = HTTPConnection("127.0.0.1", server.web_port, timeout=10)
    body = (b"x" * 65536 for _ in range(size // 65536))
    length = {} if chunked else {"Content-Length": str(size)}
    connection.request("POST", "/admin/login", body, {**FORM, **length}, encode_chunked=chunked)
    assert connection.getresponse().status == 413
    connection.close()
    assert peak_memory(server) - before < 4 << 20


def peak_memory(server: Backend) -> int:
    """Peak memory of the server, in bytes."""
    with open(f"/proc/{server.process.pid}/status") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read())[1]) * 1024  # type: ignore[index]


@pytest.mark.parametrize(
    "name",
    ["Host", "Origin", "Cookie", "Range", "If_None_Match", "If_Modified_Since", "Content_Type", "X_Real_IP"],
)
def test_invalid_bytes_in_a_header_are_no_server_error(server: Backend, name: str) -> None:
    for path, method in (("/media/fox.svg", "GET"), ("/admin/login", "POST"), ("/admin", "GET")):
        assert ask(server, path, method, **{name: "\xff\xfe"}).status < 500


def test_an_internal_error_shows_no_traceback(tmp_path: Path) -> None:
    broken = (
        "from upstage import cli; from upstage.web import pages; pages.stage_list = None; cli.main(['serve'])"
    )
    server = Backend(tmp_path, ["-c", broken])
    answer = ask(server, "/")
    assert (answer.status, answer.headers["cache-control"]) == (500, "no-store")
    assert "<title>Internal Server Error" in answer.text
    assert "NoneType" not in answer.text
    assert ask(server, "/", "HEAD").body == b""
    [line, _] = server.logged("a request failed")
    assert "NoneType" in str(line["traceback"])
    assert server.stop() == 0
