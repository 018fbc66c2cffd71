"""The socket for datagrams: other users may write to it, and it is re-created if it is removed."""

import os
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from extras.observe.exporter.inbox import LONGEST, Inbox
from tests.support.wait import wait_until


@pytest.fixture
def taken() -> list[bytes]:
    return []


@pytest.fixture
def inbox(tmp_path: Path, taken: list[bytes], monkeypatch: pytest.MonkeyPatch) -> Iterator[Inbox]:
    """Yield the inbox, at a path where there was a file before."""
    monkeypatch.setattr("extras.observe.exporter.inbox.PATIENCE", 0.1)
    path = tmp_path / "nginx.sock"
    inbox = Inbox(path, taken.append)
    with pytest.raises(OSError, match="no socket"):
        inbox.check()
    path.touch()
    threading.Thread(target=inbox.listen, daemon=True).start()
    wait_until(path.is_socket)
    yield inbox
    path.unlink()
    path.mkdir()  # now nothing can listen here


def send(path: Path, *datagrams: bytes) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        for datagram in datagrams:
            sender.sendto(datagram, str(path))


def test_another_user_may_write_to_the_socket_and_it_comes_back(
    inbox: Inbox, taken: list[bytes], tmp_path: Path
) -> None:
    path = tmp_path / "nginx.sock"
    wait_until(lambda: stat.S_IMODE(os.stat(path).st_mode) == 0o666)
    assert inbox.check() == []
    send(path, b"one", b"", b"x" * (LONGEST - 1), b"two")
    wait_until(lambda: [len(each) for each in taken] == [3, 0, LONGEST - 1, 3])
    inode = path.stat().st_ino
    path.rename(path.with_name("moved"))
    wait_until(lambda: path.is_socket() and path.stat().st_ino != inode)
    send(path, b"again")
    wait_until(lambda: taken[-1] == b"again")
