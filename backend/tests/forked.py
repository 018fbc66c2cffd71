"""Programs of the backend in processes forked from one that has imported their modules.

Importing them takes most of a second of CPU time, and the tests start two hundred processes.
"""

import multiprocessing
import os
import runpy
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing import forkserver
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from unittest import mock

SRC = Path(__file__).parents[1] / "src"
# Everything that `upstage serve` imports, except the modules that import the reactor, which cannot be shared
# by processes.
MODULES = [
    *(__name__, "twisted.application.strports", "twisted.internet.epollreactor", "upstage.cli"),
    *("upstage.net.metrics", "upstage.state.in_memory", "upstage.state.seed", "upstage.web.urls"),
]

multiprocessing.get_context("forkserver").set_forkserver_preload(MODULES)


class Forked(ForkServerProcess):
    """A process that does what `python COMMAND` does, with the methods of Popen that the tests use."""

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        out: Path,
        errors: Path | None = None,
        stdin: Path | str = os.devnull,
    ) -> None:
        super().__init__(daemon=True)  # ends with the tests
        self._command, self._env = list(command), dict(env)
        self._files = [stdin, out, errors or out]
        for file in (out, errors or out):
            file.write_bytes(b"")
        path = os.pathsep.join([str(SRC), str(Path(__file__).parents[2])])
        with mock.patch.dict(os.environ, PYTHONPATH=path):
            forkserver.ensure_running()
        self.start()

    def run(self) -> None:
        """Run the command, in the new process."""
        assert set(MODULES) <= set(sys.modules), "the fork server has not imported the backend"
        assert "twisted.internet.reactor" not in sys.modules
        for descriptor, file in enumerate(self._files):
            os.dup2(os.open(file, os.O_RDWR | os.O_APPEND), descriptor)
        sys.stdin = os.fdopen(0)
        os.environ.clear()
        os.environ.update(self._env)
        option, program, *arguments = self._command
        sys.argv = [option, *arguments]
        if option == "-m":
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            exec(program, {"__name__": "__main__"})

    def poll(self) -> int | None:
        return self.exitcode

    def wait(self, timeout: float) -> int:
        self.join(timeout)
        assert self.exitcode is not None, f"still running after {timeout} s"
        return self.exitcode


def run_upstage(*words: str, env: Mapping[str, str], stdin: str = "") -> tuple[int, str, str]:
    """Run `upstage WORDS` to its end; return its status, output and errors."""
    with tempfile.TemporaryDirectory() as folder:
        lines, out, errors = (Path(folder) / name for name in ("stdin", "stdout", "stderr"))
        lines.write_text(stdin)
        status = Forked(["-m", "upstage", *words], env, out, errors, lines).wait(60)
        return status, out.read_text(), errors.read_text()
