"""The command as a process: its signals, its log and its exit codes."""

import json
import os
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import hostile
from policyd import cli, server
from running_daemon import HERE, SHIPPED

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(HERE.parent / "src")}
COMMAND = [sys.executable, "-m", "policyd"]


class Process:
    """`policyd` as a child process, its policy a private copy of the shipped one."""

    def __init__(self, file: Path, *options: str) -> None:
        shutil.copy(SHIPPED, file)
        self.file = file
        self.child = subprocess.Popen(
            [*COMMAND, "--port", "0", "--file", str(file), *options],
            stdout=subprocess.PIPE,
            env=ENVIRONMENT,
            bufsize=0,
        )
        self.addresses: list[str] = self.event("listening")["addresses"]
        self.port = int(self.addresses[0].rsplit(":", 1)[1])

    def event(self, name: str) -> dict[str, Any]:
        """Read the log up to the next event of this name."""
        assert self.child.stdout
        while True:
            assert select.select([self.child.stdout], [], [], 10)[0], f"no {name} event"
            line = self.child.stdout.readline()
            assert line, f"the log ended without a {name} event"
            event: dict[str, Any] = json.loads(line)
            if event["event"] == name:
                return event

    def ask(self) -> bytes:
        with socket.create_connection(("127.0.0.1", self.port), 5) as sock:
            sock.sendall(hostile.REQUEST)
            with sock.makefile("rb") as file:
                return file.read()


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    processes: list[Process] = []

    def runs(*options: str) -> Process:
        processes.append(Process(tmp_path / "flashpolicy.xml", *options))
        return processes[-1]

    yield runs
    for process in processes:
        process.child.kill()
        process.child.communicate()


Run = Callable[..., Process]


def policyd(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], env=ENVIRONMENT, capture_output=True, text=True, timeout=20)


def test_the_daemon_listens_on_ipv4_and_ipv6_by_default(run: Run) -> None:
    process = run()
    assert process.ask() == SHIPPED.read_bytes() + b"\0"
    if len(process.addresses) == 1:
        pytest.skip("no IPv6 on this machine")
    assert process.addresses == [f"0.0.0.0:{process.port}", f"[::]:{process.port}"]
    assert hostile.honest("::1", process.port) == "answer"


def test_hosts_can_be_chosen(run: Run) -> None:
    process = run("--host", "127.0.0.1", "--host", "127.0.0.5")
    assert process.addresses == [f"127.0.0.1:{process.port}", f"127.0.0.5:{process.port}"]
    assert hostile.honest("127.0.0.5", process.port) == "answer"


def test_a_unix_socket_answers_too_and_one_that_was_left_is_replaced(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "policyd.sock"
    run("--unix", str(path)).child.kill()
    process = run("--unix", str(path))
    assert process.addresses[-1] == f"unix:{path}"
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(5)
        sock.connect(str(path))
        sock.sendall(hostile.REQUEST)
        with sock.makefile("rb") as file:
            assert file.read() == SHIPPED.read_bytes() + b"\0"
    assert process.ask()
    assert process.event("connection")["address"] == "unix"


def test_a_reload_takes_a_good_policy_and_ignores_a_bad_one(run: Run) -> None:
    process = run()
    good = SHIPPED.read_bytes().replace(b'to-ports="7230"/>', b'to-ports="7230,80"/>', 1)
    process.file.write_bytes(good)
    process.child.send_signal(signal.SIGHUP)
    assert process.event("reloaded")["grants"] == 3
    line = 1 + good[: good.index(b"7230,80")].count(b"\n")
    assert process.event("warning")["warning"].startswith(f"{process.file}:{line}: ports below 1024")
    assert process.ask() == good + b"\0"

    process.file.write_text("<cross-domain-policy>\n<oops/>\n</cross-domain-policy>")
    process.child.send_signal(signal.SIGHUP)
    error = process.event("reload-failed")["error"]
    assert error.startswith(f"{process.file}:2: <oops>")
    assert process.ask() == good + b"\0"

    process.file.unlink()
    process.child.send_signal(signal.SIGHUP)
    assert "no such file" in process.event("reload-failed")["error"]
    assert process.ask() == good + b"\0"


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_counters_on_usr1_and_at_a_graceful_stop(run: Run, end: signal.Signals) -> None:
    process = run("--deadline", "30")
    process.ask()
    process.child.send_signal(signal.SIGUSR1)
    assert process.event("counters")["served"] == 1
    with socket.create_connection(("127.0.0.1", process.port), 5) as silent:
        process.ask()
        process.child.send_signal(end)
        counters = process.event("counters")
        assert (counters["served"], counters["stopped"]) == (2, 1)
        assert silent.recv(1) == b""
    process.event("stopped")
    assert process.child.wait(10) == 0


def test_a_restarted_daemon_gets_its_port_at_once(run: Run) -> None:
    process = run("--host", "127.0.0.1")
    process.ask()
    process.child.terminate()
    process.child.wait(10)
    with socket.create_connection(("127.0.0.1", run("--port", str(process.port)).port), 5):
        pass


def test_a_full_descriptor_table_costs_no_cpu_and_the_daemon_recovers(run: Run) -> None:
    process = run("--host", "127.0.0.1", "--deadline", "1.5")
    used = len(os.listdir(f"/proc/{process.child.pid}/fd"))
    resource.prlimit(process.child.pid, resource.RLIMIT_NOFILE, (used + 3, used + 3))
    silent = [socket.create_connection(("127.0.0.1", process.port), 5) for _ in range(10)]
    assert "Too many open files" in process.event("accept-failed")["detail"]
    before = cpu_seconds(process.child.pid)
    time.sleep(1)
    assert cpu_seconds(process.child.pid) - before < 0.3
    for sock in silent:
        sock.close()
    assert hostile.honest("127.0.0.1", process.port, 10) == "answer"


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_full_log_pipe_does_not_stop_the_daemon(run: Run) -> None:
    process = run("--log-lines", "100000")
    for _ in range(1000):  # far more than a pipe holds
        hostile.connect_and_close("127.0.0.1", process.port, 1)
    assert hostile.honest("127.0.0.1", process.port) == "answer"


def test_few_descriptors_lower_the_cap(tmp_path: Path) -> None:
    limited = 'ulimit -n 40; exec "$@"'
    with subprocess.Popen(
        ["sh", "-c", limited, "sh", *COMMAND, "--port", "0", "--file", str(SHIPPED)],
        stdout=subprocess.PIPE,
        env=ENVIRONMENT,
    ) as child:
        try:
            assert child.stdout
            assert "only 24 connections" in json.loads(child.stdout.readline())["warning"]
            address = json.loads(child.stdout.readline())["addresses"][0]
            port = int(address.rpartition(":")[2])
            with ExitStack() as stack:
                for _ in range(40):
                    stack.enter_context(socket.create_connection(("127.0.0.1", port), 5))
                # Closed at once, instead of waiting in the backlog for want of descriptors.
                assert json.loads(child.stdout.readline())["outcome"] == "refused-total"
        finally:
            child.terminate()


def test_a_bad_policy_prevents_the_start(tmp_path: Path) -> None:
    file = tmp_path / "bad.xml"
    file.write_text('<cross-domain-policy>\n\n<allow-access-from domain="a" to-ports="0"/>')
    result = policyd("--port", "0", "--file", str(file))
    assert result.returncode == 1
    assert result.stderr.startswith(f"policyd: {file}:3: ")
    assert result.stdout == ""


def test_an_address_that_cannot_be_bound_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        for host, port, reason in (
            ("127.0.0.1", taken, f"cannot listen on 127.0.0.1 port {taken}: Address already in use"),
            ("192.0.2.1", 0, "cannot listen on 192.0.2.1"),
        ):
            result = policyd("--host", host, "--port", str(port), "--file", str(SHIPPED))
            assert result.returncode == 1
            assert f"policyd: {reason}" in result.stderr
    result = policyd("--unix", "/nonexistent/x.sock", "--port", "0", "--file", str(SHIPPED))
    assert result.stderr == "policyd: cannot listen on /nonexistent/x.sock: No such file or directory\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--port", "65536"],
        ["--port", "x"],
        ["--deadline", "0"],
        ["--deadline", "nan"],
        ["--max-connections", "0"],
        ["check"],
        ["check", "localhost", "0"],
        ["--unknown"],
    ],
)
def test_a_wrong_command_line_is_rejected(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2


def test_the_check_prints_the_policy_or_the_reason(run: Run) -> None:
    process = run()
    result = policyd("check", "127.0.0.1", str(process.port))
    assert (result.returncode, result.stdout) == (0, SHIPPED.read_text() + "\n")
    process.child.terminate()
    process.child.wait(10)
    result = policyd("check", "127.0.0.1", str(process.port))
    assert result.returncode == 1
    assert result.stderr == f"policyd: 127.0.0.1:{process.port}: Connection refused\n"


def without(family: socket.AddressFamily, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take an address family away, as a kernel without it does."""
    real = socket.socket

    def lacking(kind: socket.AddressFamily, *rest: Any) -> socket.socket:
        if kind == family:
            raise OSError(97, "Address family not supported by protocol")
        return real(kind, *rest)

    monkeypatch.setattr(socket, "socket", lacking)


def test_without_ipv6_the_daemon_listens_on_ipv4(monkeypatch: pytest.MonkeyPatch) -> None:
    without(socket.AF_INET6, monkeypatch)
    (only,) = server.open_listeners([], 0)
    with only:
        assert server.shown(only).startswith("0.0.0.0:")
    with pytest.raises(OSError, match="cannot listen on ::1"):
        server.open_listeners(["127.0.0.1", "::1"], 0)
