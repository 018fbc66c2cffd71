"""Programs of the backend in processes forked from one that has imported their modules.

Importing them takes most of a second of CPU time, and the tests start two hundred processes.
"""

import multiprocessing
import os
import runpy
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing import forkserver
from pathlib import Path
from unittest import mock

SRC = Path(__file__).parents[1] / "src"
# All that `upstage serve` imports, but for the modules that import the reactor: it belongs to one process.
MODULES = [
    "forked",
    "twisted.application.strports",
    "twisted.internet.epollreactor",
    "upstage.cli",
    "upstage.net.metrics",
    "upstage.state.live",
    "upstage.state.seed",
    "upstage.web.tree",
]

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(MODULES)


class Forked:
    """A process that does what `python COMMAND` does; has what the tests use of `subprocess.Popen`."""

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        out: Path,
        errors: Path | None = None,
        stdin: Path | str = os.devnull,
    ) -> None:
        path = os.pathsep.join([str(SRC), str(Path(__file__).parent)])
        with mock.patch.dict(os.environ, PYTHONPATH=path):
            forkserver.ensure_running()
        files = [str(file) for file in (stdin, out, errors or out)]
        for file in files[1:]:
            Path(file).write_bytes(b"")
        self._process = _context.Process(target=_run, args=([*command], dict(env), files), daemon=True)
        self._process.start()
        self.pid = self._process.pid or 0

    def poll(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float) -> int:
        self._process.join(timeout)
        code = self.poll()
        assert code is not None, f"still running after {timeout} s"
        return code


def _run(command: list[str], env: dict[str, str], files: list[str]) -> None:
    assert set(MODULES) <= set(sys.modules), "the fork server has not imported the backend"
    assert "twisted.internet.reactor" not in sys.modules
    for descriptor, file in enumerate(files):
        os.dup2(os.open(file, os.O_RDWR | os.O_APPEND), descriptor)
    sys.stdin = os.fdopen(0)
    os.environ.clear()
    os.environ.update(env)
    option, program, *arguments = command
    sys.argv = [option, *arguments]
    if option == "-m":
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        exec(program, {"__name__": "__main__"})


def run_upstage(*words: str, env: Mapping[str, str], stdin: str = "") -> tuple[int, str, str]:
    """Run `upstage WORDS` to its end; return its status, output and errors."""
    with tempfile.TemporaryDirectory() as folder:
        lines, out, errors = (Path(folder) / name for name in ("stdin", "stdout", "stderr"))
        lines.write_text(stdin)
        status = Forked(["-m", "upstage", *words], env, out, errors, lines).wait(20)
        return status, out.read_text(), errors.read_text()
