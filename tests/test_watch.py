"""`make watch` and the tools of Varnish on the running stack, in either mode."""

import os
import re
import signal
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.stack import Stack
from tests.support.wait import wait_until


@contextmanager
def watching(stack: Stack, log: Path, word: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Start `make watch` in a process group, as a terminal does; yield it when it reads both logs."""
    with log.open("w") as output:
        command = ["make", "-s", "watch", f"WORD={word}", "HOST=localhost"]
        process = subprocess.Popen(
            command,
            cwd=stack.folder,
            env=stack.environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            wait_until(lambda: "SERVER" in log.read_text(), within=60)
            wait_until(
                lambda: stack.get(f"/stages/?{word}").ok and word in log.read_text(), within=60, every=0.5
            )
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def readers(stack: Stack) -> int:
    """Return the number of running varnishlogs."""
    if stack.mode == "containers":
        running = stack.compose("exec", "-T", "varnish", "sh", "-c", "cat /proc/[0-9]*/comm")
        return running.split().count("varnishlog")
    found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return sum(line.startswith(f"varnishlog -n {stack.native_run}/") for line in found.splitlines())


def test_a_miss_and_a_hit_appear_and_ctrl_c_leaves_no_process(stack: Stack, tmp_path: Path) -> None:
    log, word = tmp_path / "log", uuid.uuid4().hex
    path = f"/media/bench/tiny.html?{word}"

    def shown(path: str) -> list[str]:
        return [line for line in log.read_text().splitlines() if path in line]

    with watching(stack, log, word) as process:
        for host in ("localhost", "localhost", "nginx.localhost"):
            stack.get(path, host, headers={"Range": "bytes=0-3"})  # nginx has no copy of a range
        wait_until(lambda: len(shown(path)) == 2, within=30)
        miss, hit = shown(path)
        assert re.match(rf"backend +miss +\d+ ms +\d+ ms  206 localhost GET {re.escape(path)}  \(no u", miss)
        assert re.match(rf"varnish +hit +\d+ ms +206 localhost GET {re.escape(path)}$", hit)
        assert readers(stack) == 1
        os.killpg(process.pid, signal.SIGINT)  # Ctrl-C
        process.wait(30)
        wait_until(lambda: readers(stack) == 0, within=30)
        assert "Traceback" not in log.read_text()


def test_a_watch_that_is_killed_leaves_no_process_either(stack: Stack, tmp_path: Path) -> None:
    with watching(stack, tmp_path / "log", uuid.uuid4().hex) as process:
        assert readers(stack) == 1
        os.killpg(process.pid, signal.SIGKILL)
        wait_until(lambda: readers(stack) == 0, within=30)


@pytest.mark.smoke
def test_the_tools_of_varnish_in_either_mode(stack: Stack) -> None:
    stack.get("/media/fox.svg?look")
    assert re.search(
        r"^-   ReqURL +/media/fox\.svg\?look$", stack.inside("varnishlog", "-d", "-g", "request"), re.M
    )
    assert "MAIN.cache_hit" in stack.inside("varnishstat", "-1", "-f", "MAIN.cache_hit")
    assert "healthy" in stack.inside("varnishadm", "backend.list")


@pytest.mark.slow  # the test before has shown that no process is left
def test_a_watch_whose_reader_has_gone_ends_at_the_next_request(stack: Stack) -> None:
    """`make watch | head -n 1` must end."""
    with subprocess.Popen(
        ["bash", "-c", "set -o pipefail; timeout 30 bin/watch | head -n 1"],
        cwd=stack.folder,
        env=stack.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as watch:
        wait_until(lambda: stack.get("/media/fox.svg").ok and watch.poll() is not None, within=40, every=0.5)
        assert watch.returncode != 124  # of timeout
        said, errors = watch.communicate()
    assert said.startswith("SERVER")
    assert errors.strip() == ""  # Compose prints a line end when it ends
