"""The parts of a lesson's page for a terminal."""

import os
import re
import textwrap
from functools import partial

from lessons.lesson import PORTS, Lesson, filled

from .attempt import Attempt

BOLD, PLAIN = "\033[1m", "\033[0m"


def page(lesson: Lesson, attempt: Attempt, bold: bool = False, width: int = 100) -> str:
    """Return the instructions and observations, with the attempt's word and this stack's ports."""
    parts = [f"**Lesson {lesson.number}: {lesson.title}**", lesson.goal]
    for heading in ("Do", "Look"):
        parts += [f"**{heading}**", lesson.section(heading)]
    return typed("\n\n".join(parts), attempt, bold, width)


def typed(text: str, attempt: Attempt, bold: bool = False, width: int = 100) -> str:
    """Return a part of a page in lines of `width`; text between ** and between ` may be bold.

    Commands and tables are not wrapped, because they are copied or have columns.
    """
    text = filled(text, attempt.word, {name: os.environ[name] for name in PORTS})
    text = re.sub(r"\[(.+?)\]\((http://localhost.+?)\)", r"\1, \2", text)
    text = re.sub(r"\[(.+?)\]\(.+?\)", r"\1", text)
    fill = partial(textwrap.fill, width=width, break_long_words=False, break_on_hyphens=False)
    blocks = []
    for block in re.split(r"\n(?=\n|\d+\. |- )", text):
        begin = block.lstrip("\n")
        if not begin.startswith(("    ", "|", "```")):
            mark = re.match(r"\d+\. |- | *", begin)
            first = mark[0] if mark else ""
            words = " ".join(begin[len(first) :].split())
            begin = fill(words, initial_indent=first, subsequent_indent=" " * len(first))
            begin = re.sub(r"\*\*(.+?)\*\*", rf"{BOLD}\1{PLAIN}" if bold else r"\1", begin, flags=re.S)
            begin = re.sub(r"`(.+?)`", rf"{BOLD}\1{PLAIN}", begin, flags=re.S) if bold else begin
        blocks.append("\n" * (len(block) - len(block.lstrip("\n"))) + begin)
    return "\n".join(blocks)
