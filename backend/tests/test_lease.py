"""State that two servers share: the lease and the operator's requests; the active server, its watchdog."""

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO
from unittest.mock import Mock

import pytest
from twisted.internet.task import Clock

from backend.tests.forked import SRC
from upstage.mirror import active, control
from upstage.mirror.control import Control, ControlError
from upstage.mirror.lease import TICK, Lease, Pulse
from upstage.mirror.watchdog import Watchdog

HOLD = "import sys, time; from pathlib import Path; from upstage.mirror.lease import Lease; " + (
    "lease = Lease(Path(sys.argv[1])); print(lease.take('them'), flush=True); time.sleep(60)"
)


def test_one_process_holds_a_lease_until_it_ends(tmp_path: Path) -> None:
    ours, looking = Lease(tmp_path / "lease"), Lease(tmp_path / "lease")
    assert looking.text() == ""
    env = {"PYTHONPATH": str(SRC)}
    command = [sys.executable, "-c", HOLD, tmp_path / "lease"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE) as other:
        assert other.stdout
        assert other.stdout.readline() == b"True\n"
        assert not ours.take("us")
        assert (ours.held, looking.text()) == (False, "them")
        other.kill()
    assert looking.text() == ""
    assert ours.take("us")
    ours.write("us, changed")
    assert (ours.held, looking.text()) == (True, "us, changed")
    ours.release()
    assert (ours.held, looking.text()) == (False, "")


def test_a_lease_never_looks_free_while_its_text_changes(tmp_path: Path) -> None:
    lease, looking = Lease(tmp_path / "lease"), Lease(tmp_path / "lease")
    lease.take("backend copying")
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            lease.write("backend ready")
            lease.write("backend copying")

    writer = threading.Thread(target=write)
    writer.start()
    seen = {looking.text() for _ in range(2000)}
    stop.set()
    writer.join()
    assert seen <= {"backend ready", "backend copying"}


def test_a_replaced_lease_is_lost(tmp_path: Path) -> None:
    first, second = Lease(tmp_path / "lease"), Lease(tmp_path / "lease")
    assert first.take("first")
    assert not second.take("second")
    assert second.replace("second")
    assert (first.held, second.held) == (False, True)
    first.touch()  # its own file, which has no name left
    assert Lease(tmp_path / "lease").text() == "second"
    (tmp_path / "lease").unlink()
    assert not second.held


def test_a_lease_replaced_while_taken_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lease, flock = Lease(tmp_path / "lease"), fcntl.flock

    def replaced_first(file: TextIO, how: int) -> None:
        lease.path.unlink()
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", replaced_first)
    assert not lease.take("us")
    assert not lease.held


def test_a_lease_that_no_process_touches_is_silent(tmp_path: Path) -> None:
    lease = Lease(tmp_path / "lease")
    pulse = Pulse(lease)
    assert [pulse.look() for _ in range(3)] == [0, 1, 2]  # there is none
    lease.take("us")
    assert [pulse.look() for _ in range(3)] == [0, 1, 2]
    time.sleep(0.02)  # the resolution of a file's date
    lease.touch()
    assert [pulse.look() for _ in range(2)] == [0, 1]
    lease.replace("us")
    assert pulse.look() == 0


def test_only_a_server_that_stands_by_is_switched_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "SWITCH_TIME", 0.5)
    shared = Control(tmp_path / "shared")
    with pytest.raises(ControlError, match=r"^mirror is not ready: it is not running$"):
        shared.switch("mirror")
    standby = Control(tmp_path / "shared").standby["mirror"]
    assert standby.take("mirror copying")
    with pytest.raises(ControlError, match=r"^mirror is not ready: copying$"):
        shared.switch("mirror")
    standby.write("mirror ready")
    os.utime(standby.path, (0, time.time() - 10))  # it hangs
    with pytest.raises(ControlError, match=r"^mirror is not ready: it is not running$"):
        shared.switch("mirror")
    os.utime(standby.path)
    with pytest.raises(ControlError, match=r"^mirror has not taken over; active: no server$"):
        shared.switch("mirror")
    assert shared.preferred == "backend"
    serving = Control(tmp_path / "shared").active
    assert serving.take("mirror serving")
    shared.switch("mirror")
    assert shared.preferred == "mirror"


def test_nonsense_in_the_shared_folder_is_ignored(tmp_path: Path) -> None:
    shared = Control(tmp_path / "shared")
    (tmp_path / "shared" / "preferred").write_text("elsewhere\n")
    (tmp_path / "shared" / "failures-backend").write_text("-1\n")
    assert (shared.preferred, shared.failures("backend")) == ("backend", 0)


def test_the_shared_folder_is_not_open_to_all_and_open_to_nginx(tmp_path: Path) -> None:
    """In a world-writable folder Linux does not follow other users' links; and a umask may be strict."""
    before = os.umask(0o077)
    try:
        Control(tmp_path / "shared")
    finally:
        os.umask(before)
    assert (tmp_path / "shared").stat().st_mode & 0o777 == 0o755


@pytest.fixture
def watchdog(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watchdog]:
    monkeypatch.setenv("PYTHONPATH", str(SRC))
    watchdog = Watchdog()
    yield watchdog
    watchdog.stop()


def test_a_watchdog_that_was_killed_comes_back(watchdog: Watchdog) -> None:
    first = watchdog._process
    first.kill()
    first.wait()
    watchdog.feed()
    assert watchdog._process.pid != first.pid
    assert watchdog._process.poll() is None


def test_a_watchdog_ends_with_its_server(watchdog: Watchdog) -> None:
    assert watchdog._process.stdin
    watchdog._process.stdin.close()
    assert watchdog._process.wait(60) == 0


def test_a_watchdog_that_hangs_does_not_stop_the_server(watchdog: Watchdog) -> None:
    os.kill(watchdog._process.pid, signal.SIGSTOP)
    for _ in range(70_000):
        watchdog.feed()


class Running:
    """An active backend on its own reactor, and the lease of the mirror beside it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(active, "Watchdog", Mock())
        self.reactor = Clock()
        self.reactor.stop = Mock()
        self.control = Control(folder / "shared")
        self.standby = Control(folder / "shared").standby["mirror"]
        assert self.control.active.take("backend starting")
        assert self.standby.take("mirror ready")
        self.server = active.Active(self.control, "backend", self.reactor)
        self.server.startService()

    def tick(self, times: int) -> None:
        self.reactor.pump([TICK] * times)

    def prefer_the_mirror(self) -> None:
        self.control._write("preferred", "mirror")


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    running = Running(tmp_path, monkeypatch)
    yield running
    running.server.stopService()


def test_a_server_hands_over_to_the_preferred_one(running: Running) -> None:
    running.tick(3)
    assert not running.server.handed_over
    running.prefer_the_mirror()
    running.tick(1)
    assert running.server.handed_over
    running.reactor.stop.assert_called_once()


def test_nothing_is_handed_over_to_a_server_that_hangs_or_is_not_ready(running: Running) -> None:
    running.tick(active.SILENT + 1)  # its lease is not touched in that time
    running.prefer_the_mirror()
    running.tick(3)
    running.standby.touch()
    running.standby.write("mirror copying")
    running.tick(3)
    assert not running.server.handed_over


def test_a_server_whose_lease_was_replaced_ends_at_the_next_tick(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tick is less than the second of extras/mirror/README.md."""
    assert TICK < 1
    end = Mock()
    monkeypatch.setattr(active.os, "_exit", end)
    running.tick(1)
    end.assert_not_called()
    assert Lease(running.control.active.path).replace("mirror starting")
    running.tick(1)
    end.assert_called_once_with(1)


def test_a_server_that_lasts_has_no_failures(running: Running) -> None:
    running.control.count_failure("backend")
    running.tick(active.STEADY - 1)
    assert running.control.failures("backend") == 1
    running.tick(1)
    assert running.control.failures("backend") == 0
