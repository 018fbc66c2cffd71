"""The instructions on a lesson's pages: README.md and solution.md.

An indented block contains commands. In a solution, a `diff` block names its files, with @@ between two places
in one file; the first line of a `vcl` block names the file to which the other lines are appended.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from markdown_it import MarkdownIt

from lessons.lesson import LESSONS, Lesson

APPENDED, DIFF = ("vcl", "vtc"), "diff"
CHANGING = (*APPENDED, DIFF)  # the languages of blocks that change a file


class Change(NamedTuple):
    """A new text, in place of one that occurs once in the file, or at the file's end."""

    file: str
    old: str  # empty: at the end
    new: str


@dataclass(frozen=True)
class Block:
    """A block of a page."""

    language: str  # empty: the block contains commands
    text: str

    @property
    def changes(self) -> Iterator[Change]:
        """Yield the changes that the block makes."""
        if self.language in APPENDED:
            file, new = re.findall(r"\A# (?:At the end of|The new file) (\S+):\n(.*)", self.text, re.S)[0]
            yield Change(file, "", new)
        elif self.language == DIFF:
            for file, places in re.findall(r"^--- (\S+)\n(.*?)(?=^--- |\Z)", self.text, re.M | re.S):
                for place in places.split("@@\n"):
                    lines = place.splitlines(keepends=True)
                    old, new = ("".join(line[1:] for line in lines if line[0] in f" {sign}") for sign in "-+")
                    yield Change(file, old, new)

    @property
    def commands(self) -> set[str]:
        """The block's lines, without indentation and comments."""
        return {re.sub(r"\s+# .*", "", line.strip()) for line in self.text.splitlines()}


def blocks(text: str) -> list[Block]:
    """Return the blocks of a page, in order."""
    tokens = MarkdownIt("commonmark").parse(text)
    return [Block(token.info, token.content) for token in tokens if token.type in ("code_block", "fence")]


def solution(number: int) -> list[Block]:
    """Return the blocks of a lesson's solution."""
    (page,) = LESSONS.glob(f"{number:02}-*/solution.md")
    return blocks(page.read_text())


def changes(number: int) -> list[Change]:
    """Return all changes of a lesson's solution."""
    return [change for block in solution(number) for change in block.changes]


def in_section(lesson: Lesson, heading: str) -> list[Block]:
    """Return the blocks in a section of README.md whose commands the solution does not repeat."""
    typed = {line for block in solution(lesson.number) if not block.language for line in block.commands}
    found = blocks(lesson.section(heading))
    return [block for block in found if block.commands - typed]
