"""Behaviour that the table does not cover: bounds, the log, signals, listeners, exit codes."""

import asyncio
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from policyd.src import policyd
from policyd.tests.hostile import CLOSE, POLICY, REQUEST, connect, connect_and_close, fate, honest
from policyd.tests.running_daemon import COMMAND, LOCAL, SHIPPED, Daemon, run
from tests.support.wait import wait_until


def test_lingering_is_bounded_in_time_and_in_bytes() -> None:
    with Daemon() as daemon:
        with connect(LOCAL, daemon.port) as sock, pytest.raises(ConnectionError):  # noqa: PT012
            sock.sendall(REQUEST)
            for _ in range(150):  # 3 s
                time.sleep(0.02)
                sock.sendall(b"x")
        with connect(LOCAL, daemon.port) as sock, pytest.raises(ConnectionError):
            sock.sendall(REQUEST + b"x" * 50_000_000)


def test_the_cap_of_an_address_leaves_room_for_others() -> None:
    with Daemon("--max-connections", "5", "--max-per-address", "3") as daemon, ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(connect(LOCAL, daemon.port))
        assert honest(LOCAL, daemon.port, 0) == CLOSE
        with connect(LOCAL, daemon.port, "127.0.0.9") as sock:
            sock.sendall(REQUEST)
            assert fate(sock) == POLICY
        stack.close()
        wait_until(lambda: honest(LOCAL, daemon.port, 0) == POLICY)


def test_connections_in_the_backlog_are_served_in_turn() -> None:
    with Daemon("--max-connections", "5", "--log-lines", "99") as daemon, ExitStack() as stack:
        daemon.send_signal(signal.SIGSTOP)
        for _ in range(40):
            client = stack.enter_context(connect(LOCAL, daemon.port))
            client.sendall(REQUEST)
            client.shutdown(socket.SHUT_WR)
        daemon.send_signal(signal.SIGCONT)
        wait_until(lambda: len(daemon.events("connection")) == 40)
        assert daemon.stop() == {"served": 40}


def test_a_full_descriptor_table_costs_no_cpu_and_the_daemon_recovers() -> None:
    with Daemon("--host", LOCAL, "--deadline", "2") as daemon:
        used = len(os.listdir(f"/proc/{daemon.pid}/fd"))
        resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (used + 3, used + 3))
        with ExitStack() as stack:
            for _ in range(10):
                stack.enter_context(connect(LOCAL, daemon.port))
            assert "Too many open files" in daemon.event("accept-failed")["detail"]
            before = cpu_seconds(daemon.pid)
            time.sleep(1)
            assert cpu_seconds(daemon.pid) - before < 0.3
        assert honest(LOCAL, daemon.port, 10) == POLICY


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_few_descriptors_lower_the_cap() -> None:
    limit = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (40, 40))
    with Daemon(before=limit) as daemon, ExitStack() as stack:
        assert "only 24 connections" in daemon.event("warning")["warning"]
        for _ in range(25):
            stack.enter_context(connect(LOCAL, daemon.port))
        # The connection is closed immediately, and does not wait until descriptors are free.
        assert daemon.event("connection")["outcome"] == "refused-total"


def test_the_limit_of_descriptors_is_raised_as_far_as_needed() -> None:
    limit = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (40, 300))
    with Daemon("--max-connections", "200", before=limit) as daemon:
        assert resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE) == (216, 300)
        assert not daemon.events("warning")


@pytest.mark.parametrize("data", [REQUEST, b"\xffx", b"x" * 99], ids=["served", "wrong", "long"])
def test_a_connection_is_logged(data: bytes) -> None:
    with Daemon() as daemon, connect(LOCAL, daemon.port) as sock:
        sock.sendall(data)
        line = daemon.event("connection")
        assert (line["address"], line["port"]) == sock.getsockname()
        assert (line["received"], 0 <= line["seconds"] < 1) == (min(len(data), 65), True)
        assert line.get("request", REQUEST.decode()) == data[:64].decode("latin-1")


def test_the_log_is_bounded_and_counts_everything() -> None:
    with Daemon("--log-lines", "10") as daemon:
        daemon.send_signal(signal.SIGSTOP)
        for _ in range(200):
            connect_and_close(LOCAL, daemon.port, 1)
        daemon.send_signal(signal.SIGCONT)
        summary = daemon.event("summary")
        assert summary["unwritten"] >= 180  # 190, unless a second has ended in between
        assert summary["outcomes"] == {"closed-early": summary["unwritten"]}
        assert honest(LOCAL, daemon.port, 0) == POLICY
        wait_until(lambda: daemon.event("connection")["outcome"] == "served")
        assert daemon.stop() == {"closed-early": 200, "served": 1}
        unwritten = sum(summary["unwritten"] for summary in daemon.events("summary"))
        assert unwritten + len(daemon.events("connection")) == 201


def test_a_full_log_pipe_does_not_stop_the_daemon() -> None:
    command = [*COMMAND, "--port", "0", "--file", str(SHIPPED), "--log-lines", "60000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout
        port = json.loads(child.stdout.readline())["addresses"][0][1]
        for _ in range(1000):  # far more than a pipe holds
            connect_and_close(LOCAL, port, 1)
        fate = honest(LOCAL, port, 0)
        child.kill()
    assert fate == POLICY


def test_an_error_ends_only_its_own_connection() -> None:
    log = policyd.Log(lines_per_second=0)
    server = policyd.Server(None, log, 1, 9, 9)  # type: ignore[arg-type]
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with theirs:
        theirs.sendall(REQUEST)
        asyncio.run(server.serve(ours, "unix", 0))
        assert fate(theirs) == CLOSE
    assert log.counts == {"error": 1}


def test_a_reload_takes_a_good_policy_and_ignores_a_bad_one(tmp_path: Path) -> None:
    file = Path(shutil.copy(SHIPPED, tmp_path))
    good = SHIPPED.read_bytes().replace(b'to-ports="7230"/>', b'to-ports="7230,80"/>', 1)
    with Daemon("--file", str(file)) as daemon:
        file.write_bytes(good)
        daemon.send_signal(signal.SIGHUP)
        line = 1 + good[: good.index(b"7230,80")].count(b"\n")
        assert daemon.event("warning")["warning"].startswith(f"{file}:{line}: ports below 1024")
        assert daemon.event("reloaded")["file"] == str(file)
        file.write_text("<cross-domain-policy>\n<oops/>")
        daemon.send_signal(signal.SIGHUP)
        assert daemon.event("reload-failed")["error"].startswith(f"{file}:2: <oops>")
        with connect(LOCAL, daemon.port) as sock, sock.makefile("rb") as answer:
            sock.sendall(REQUEST)
            assert answer.read() == good + b"\0"


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_lets_a_client_finish(end: signal.Signals) -> None:
    with Daemon("--deadline", "30") as daemon, connect(LOCAL, daemon.port) as slow:
        assert honest(LOCAL, daemon.port, 0) == POLICY
        daemon.send_signal(signal.SIGUSR1)
        assert daemon.event("counters")["served"] == 1
        slow.sendall(REQUEST[:10])
        time.sleep(0.1)
        daemon.send_signal(end)
        time.sleep(0.2)
        with pytest.raises(ConnectionRefusedError):
            connect(LOCAL, daemon.port)
        slow.sendall(REQUEST[10:])
        assert fate(slow) == POLICY
        daemon.wait(60)
        assert daemon.stop() == {"served": 2}
        assert daemon.events("stopped")


def test_it_listens_on_ipv4_and_ipv6_by_default() -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("no IPv6 on this machine")
    with Daemon() as daemon:
        assert honest(LOCAL, daemon.port, 0) == honest("::1", daemon.port, 0) == POLICY
        wait_until(lambda: {line["address"] for line in daemon.events("connection")} == {LOCAL, "::1"})


def test_without_ipv6_it_listens_on_ipv4(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: False)
    (only,) = policyd.listen([], 0, None)
    with only:
        assert only.getsockname()[0] == "0.0.0.0"


def test_it_listens_on_hosts_and_on_a_unix_socket_that_was_left(tmp_path: Path) -> None:
    path = tmp_path / "policyd.sock"
    options = ("--host", LOCAL, "--host", "127.0.0.5", "--unix", str(path))
    with Daemon(*options):
        pass  # killed
    with Daemon(*options) as daemon, socket.socket(socket.AF_UNIX) as sock:
        assert daemon.addresses == [[LOCAL, daemon.port], ["127.0.0.5", daemon.port], str(path)]
        assert path.stat().st_mode & 0o777 == 0o666
        assert honest("127.0.0.5", daemon.port, 0) == POLICY
        sock.connect(str(path))
        sock.sendall(REQUEST)
        assert fate(sock) == POLICY
        wait_until(lambda: daemon.event("connection")["address"] == "unix")
        daemon.stop()
    with Daemon("--port", str(daemon.port), *options):
        pass  # starts immediately, although the kernel remembers the connections


def test_a_second_daemon_ends_and_leaves_the_socket_to_the_first(tmp_path: Path) -> None:
    path = tmp_path / "policyd.sock"
    options = ("--host", LOCAL, "--unix", str(path))
    with Daemon(*options), socket.socket(socket.AF_UNIX) as sock:
        second = run("--port", "0", "--file", str(SHIPPED), *options)
        assert (second.returncode, second.stderr.count("\n")) == (1, 1)
        assert second.stderr.startswith("policyd: another policyd is running")
        sock.connect(str(path))
        sock.sendall(REQUEST)
        assert fate(sock) == POLICY


def test_what_prevents_a_start_is_named(tmp_path: Path) -> None:
    bad, pipe = tmp_path / "bad.xml", tmp_path / "pipe.xml"
    os.mkfifo(pipe)
    bad.write_text('<cross-domain-policy>\n\n<allow-access-from domain="a" to-ports="0"/>')
    with socket.create_server((LOCAL, 0)) as other:
        for options, reason in (
            (f"--file {bad}", f"{bad}:3: "),
            (f"--file {tmp_path}", f"{tmp_path}: cannot be read: Is a directory"),
            (f"--file {tmp_path}/none", f"{tmp_path}/none: cannot be read: No such file or directory"),
            (f"--file {pipe}", f"{pipe}:1: not well-formed XML: no element found"),
            ("--host 192.0.2.1", "cannot listen on 192.0.2.1: Cannot assign"),
            (f"--host {LOCAL} --port {other.getsockname()[1]}", f"cannot listen on {LOCAL}: Address already"),
            (f"--unix {tmp_path}/none/x", f"cannot listen on {tmp_path}/none/x: No such file or directory"),
            (f"--unix {bad}", f"cannot listen on {bad}: Address already in use"),  # not a socket, so it stays
        ):
            result = run("--file", str(SHIPPED), "--port", "0", *options.split())
            assert (result.returncode, result.stdout) == (1, "")
            assert result.stderr.startswith(f"policyd: {reason}")


@pytest.mark.parametrize(
    "arguments", ["--port 65536", "--deadline x", "check", "check localhost x", "--unknown"]
)
def test_a_wrong_command_line_is_rejected(arguments: str) -> None:
    assert run(*arguments.split()).returncode == 2
