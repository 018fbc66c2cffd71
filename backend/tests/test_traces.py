"""The backend's line about a traced request: its parent, its waits, and the socket that gets the line."""

import json
import socket
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from backend.tests.running_backend import FORM, PASSWORD, Backend, ask
from upstage.state.database import FILE

ID, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Traced(Backend):
    """A backend that sends its lines to `inbox`."""

    def __init__(self, folder: Path) -> None:
        self.inbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.inbox.bind(str(folder / "traces.sock"))
        self.inbox.settimeout(60)
        super().__init__(folder, UPSTAGE_TRACES=str(folder / "traces.sock"), UPSTAGE_ADMIN_PASSWORD=PASSWORD)

    def ask_traced(self, path: str, flags: str, method: str = "GET", body: bytes = b"") -> None:
        headers = {"X_Request_Id": ID, "traceparent": f"00-{ID}-{SPAN}-{flags}"}
        ask(self, path, method, body, **headers, **(FORM if body else {}))


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    server = Traced(tmp_path_factory.mktemp("traced"))
    yield server
    server.end()


def test_a_drawn_request_is_sent_and_names_what_asked(backend: Traced) -> None:
    backend.ask_traced("/robots.txt?not", "00")
    ask(backend, "/robots.txt?neither", X_Request_Id=ID)
    backend.ask_traced("/robots.txt?drawn", "01")
    line = json.loads(backend.inbox.recv(4096))
    assert (line["path"], line["request_id"], line["parent"]) == ("/robots.txt?drawn", ID, SPAN)
    assert line in backend.logged("request")
    others = {each["path"]: each.get("parent") for each in backend.logged("request")}
    assert (others["/robots.txt?not"], others["/robots.txt?neither"]) == (SPAN, None)


def test_waiting_for_the_database_is_a_step_of_a_slow_request(backend: Traced) -> None:
    lock = sqlite3.connect(backend.data / FILE, check_same_thread=False)
    lock.execute("BEGIN IMMEDIATE")
    threading.Timer(0.3, lock.rollback).start()
    backend.ask_traced("/admin/login", "00", "POST", f"username=admin&password={PASSWORD}".encode())
    line = json.loads(backend.inbox.recv(4096))
    assert line["status"] == 302
    first, last = line["steps"]["database"]
    assert 0 <= first < last <= line["ms"]
    assert line["ms"] >= 100


def test_without_a_reader_nothing_fails(backend: Traced) -> None:
    for number in range(50):  # the kernel keeps ten datagrams
        backend.ask_traced(f"/robots.txt?{number}", "01")
    assert len([each for each in backend.logged("request") if each.get("parent")]) >= 50
