"""`policyd check` and the containers' health check, against good servers and wrong ones."""

import asyncio
import socket
import struct
import subprocess
import time
from pathlib import Path

import pytest

from policyd.src.policyd import Problem, check
from policyd.tests.hostile import REQUEST
from policyd.tests.running_daemon import LOCAL, SHIPPED, Daemon, run
from tests.support.origin import Origin
from tests.support.ports import free_ports

HEALTH = SHIPPED.with_name("health.sh")
GOOD = b"""<cross-domain-policy>
<allow-access-from domain="a" to-ports="7230"/>
</cross-domain-policy>"""


def healthy(*arguments: int, script: Path = HEALTH) -> bool:
    command = ["bash", str(script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, timeout=60).returncode == 0


def test_the_daemon_passes_both_checks_on_its_port_and_its_unix_socket(tmp_path: Path) -> None:
    path, script = tmp_path / "policyd.sock", tmp_path / "health.sh"
    text = HEALTH.read_text().replace("/run/policyd/policyd.sock", str(path))
    with Daemon("--host", LOCAL, "--unix", str(path)) as daemon:
        result = run("check", LOCAL, str(daemon.port))
        assert (result.returncode, result.stdout) == (0, SHIPPED.read_text() + "\n")
        script.write_text(text.replace(":-3000", f":-{daemon.port}"))
        assert healthy(script=script)
        path.rename(tmp_path / "away")
        assert not healthy(script=script)
        (tmp_path / "away").rename(path)
    with Daemon("--host", LOCAL) as other:  # the port answers; the path is there, without a listener
        script.write_text(text.replace(":-3000", f":-{other.port}"))
        assert path.exists()
        assert not healthy(script=script)


@pytest.mark.parametrize(
    ("packets", "end", "reason", "health"),
    [
        ([GOOD[:30], GOOD[30:], b"\0"], "close", None, True),
        ([GOOD + b"\0"], "stay", "Timeout", True),
        ([GOOD + b"\0\0"], "close", "after the NUL", True),
        ([GOOD + b"\0"], "reset", "reset", True),
        ([GOOD], "close", "no policy with a NUL", False),
        ([GOOD], "stay", "Timeout", False),
        ([], "reset", "reset", False),
        ([GOOD[:-1] + b"\0"], "close", ":3: not well-formed", False),
        ([b"x" * 30_000], "close", "no policy with a NUL", False),
    ],
)
def test_only_a_policy_its_nul_and_the_close_are_accepted(
    packets: list[bytes], end: str, reason: str | None, health: bool
) -> None:
    received = []

    def behave(connection: socket.socket) -> None:
        received.append(connection.recv(100))
        for packet in packets:
            connection.sendall(packet)
            time.sleep(0.02)
        if end == "stay":
            connection.recv(1)
        if end == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    server = Origin("policy daemon", behave=behave)
    if reason is None:
        assert asyncio.run(check(LOCAL, server.port)) == GOOD.decode()
    else:
        with pytest.raises(Problem, match=f"{LOCAL}:{server.port}.*{reason}"):
            asyncio.run(check(LOCAL, server.port, seconds=0.5))
    assert healthy(server.port) is health
    assert received == [REQUEST, REQUEST]


def test_a_server_that_is_not_there_is_named() -> None:
    (port,) = free_ports(1)
    result = run("check", LOCAL, str(port))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith(f"policyd: {LOCAL}:{port}: no policy with a NUL")
    assert not healthy(port)
