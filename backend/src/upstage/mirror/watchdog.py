"""The watchdog of a server that has a mirror: kills a server that hangs.

Otherwise its clients would stay connected to a stage on which nothing happens. It is a separate process,
started by the server, because a stopped process stops with all its threads. Docker or supervisord then starts
the server again.
"""

import os
import select
import signal
import subprocess
import sys

from upstage.mirror.lease import TICK

LIMIT = 20  # ticks of silence. Ticks are counted, so that a machine that was suspended kills nothing.


class Watchdog:
    """The server's end of the watchdog."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "upstage.mirror.watchdog"], stdin=subprocess.PIPE, bufsize=0
        )
        assert self._process.stdin is not None
        self._pipe = self._process.stdin.fileno()
        os.set_blocking(self._pipe, False)

    def feed(self) -> None:
        """Show that this process works; call it every TICK seconds."""
        try:
            os.write(self._pipe, b".")
        except BlockingIOError:
            pass  # the pipe is full: the watchdog itself has hung for hours
        except BrokenPipeError:
            self.stop()
            self._start()

    def stop(self) -> None:
        self._process.kill()
        self._process.communicate()


def watch(server: int) -> None:
    """Return when the process `server` has ended; kill it if it is silent for LIMIT ticks."""
    silent = 0
    while silent < LIMIT:
        if not select.select([0], [], [], TICK)[0]:
            silent += 1
        elif os.read(0, 65536):
            silent = 0
        else:
            return
    if os.getppid() == server:  # otherwise the process has ended, and another may have its number
        print(f"upstage: the server hangs ({LIMIT * TICK:.0f} s of silence) and is killed", file=sys.stderr)
        os.kill(server, signal.SIGKILL)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal: it ends with the server, not before
    watch(os.getppid())
