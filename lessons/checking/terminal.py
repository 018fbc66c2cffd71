"""The terminal of `make learn`: single keys, and a screen of which only what has changed is written."""

import contextlib
import os
import re
import select
import sys
import termios
import tty
from collections.abc import Iterator

from rich.console import Console
from rich.control import Control
from rich.segment import ControlType, Segment, Segments

from .screen import Line, View, draw, rows

PAUSE = 0.2  # seconds to wait for a key
REST = 0.05  # seconds for the rest of a key that sends several bytes
KEY = re.compile(r"\x1b[\[O][\d;]*[A-Za-z~]|.", re.S)
UNFINISHED = re.compile(r"\x1b([\[O][\d;]*)?\Z")
NAMES = {"[A": "up", "OA": "up", "[B": "down", "OB": "down", "[C": "enter", "OC": "enter", "[5~": "pageup"}
NAMES |= {"[6~": "pagedown", " ": "pagedown", "\r": "enter", "\n": "enter"}


class Terminal:
    """Standard input and output."""

    def __init__(self) -> None:
        self._console = Console(highlight=False, force_terminal=True)  # bin/lesson has looked
        self._shown: dict[int, Line] = {}  # each line on the screen, by its first row
        self._size = (0, 0)

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Read keys at once and without printing them; in the end, what was on the screen comes back."""
        before = termios.tcgetattr(sys.stdin)
        tty.setcbreak(sys.stdin)
        try:
            with self._console.screen():
                yield
        finally:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)

    def keys(self) -> list[str]:
        """What was typed, in lower case or by name; after PAUSE an empty list."""
        typed, wait = "", PAUSE
        while select.select([sys.stdin], [], [], wait)[0]:
            data = os.read(sys.stdin.fileno(), 1024)
            if not data:  # the terminal is gone
                return ["q"]
            typed += data.decode(errors="replace")
            if not UNFINISHED.search(typed):
                break
            wait = REST
        return [NAMES.get(key.lstrip("\x1b"), key.lower()) for key in KEY.findall(typed)]

    def forget(self) -> None:
        """Forget the keys that were pressed during a wait."""
        termios.tcflush(sys.stdin, termios.TCIFLUSH)

    def resized(self) -> bool:
        """Whether the window has another size than it had when it was drawn."""
        return self._size != self._console.size

    def show(self, view: View) -> int:
        """Draw a view; return its offset. A line that is there stays: the mouse may have selected it."""
        written = list[Segment]()
        if self.resized():
            self._size, self._shown = self._console.size, {}
            written.append(Control.clear().segment)
        width, height = self._size
        lines, offset = draw(view, width, height)
        shown, row = dict[int, Line](), 0
        for line in lines:
            shown[row], count = line, rows([line], width)
            if self._shown.get(row) != line:
                written += [Control.move_to(0, row).segment, *line]
                if Segment.get_line_length(line) < width * count:
                    written.append(Control((ControlType.ERASE_IN_LINE, 0)).segment)
            row += count
        self._shown = shown
        self._console.print(Segments(written), end="", crop=False)
        return offset
