"""What two servers share: the lease and the operator's requests; and the watchdog of each."""

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TextIO

import pytest

from forked import SRC
from support.wait import wait_until
from upstage.mirror import control
from upstage.mirror.control import Control, ControlError
from upstage.mirror.lease import Lease, Pulse
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


def test_a_lease_that_is_replaced_while_it_is_taken_is_not_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_place_that_does_not_stand_by_is_not_switched_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    active = Control(tmp_path / "shared").active
    assert active.take("mirror serving")
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


def watchdog_of(process: int) -> int:
    """The process ID of its only child; 0 if it has none yet."""
    return int(Path(f"/proc/{process}/task/{process}/children").read_text().strip() or 0)


def has_ended(process: int) -> bool:
    try:
        return " Z " in Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_the_watchdog_comes_back_and_ends_with_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(SRC))
    watchdog = Watchdog()
    try:
        first = watchdog._process
        first.kill()
        first.wait()
        watchdog.feed()
        second = watchdog._process
        assert second.poll() is None
        assert second.pid != first.pid
    finally:
        watchdog.stop()
    assert second.poll() == -signal.SIGKILL


def test_a_full_pipe_does_not_stop_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The watchdog itself hangs."""
    monkeypatch.setenv("PYTHONPATH", str(SRC))
    watchdog = Watchdog()
    try:
        os.kill(watchdog._process.pid, signal.SIGSTOP)
        for _ in range(70_000):
            watchdog.feed()
    finally:
        watchdog.stop()


SERVE = """
import sys, time
from upstage.mirror.watchdog import Watchdog
watchdog = Watchdog()
for _ in range(int(sys.argv[1])):
    watchdog.feed()
    time.sleep(0.05)
if sys.argv[2:]:
    time.sleep(60)
"""


def test_the_watchdog_ends_when_its_server_does() -> None:
    with subprocess.Popen([sys.executable, "-c", SERVE, "600"], env={"PYTHONPATH": str(SRC)}) as server:
        child = wait_until(lambda: watchdog_of(server.pid))
        server.kill()
    wait_until(lambda: has_ended(child))


@pytest.mark.slow  # test_mirror.py: a stopped server
def test_the_watchdog_kills_a_silent_server() -> None:
    command = [sys.executable, "-c", SERVE, "1", "silent"]
    began = time.monotonic()
    with subprocess.Popen(command, env={"PYTHONPATH": str(SRC)}) as server:
        assert server.wait(15) == -signal.SIGKILL
    assert time.monotonic() - began > 4
