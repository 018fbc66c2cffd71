"""What `make learn` shows: a pure function of a View and the size of the window, drawn by Rich."""

from collections.abc import Iterable
from dataclasses import dataclass
from io import StringIO
from math import ceil

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import CodeBlock, Markdown
from rich.rule import Rule
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from proscenium.running import REPO

from .progress import Finding
from .question import LETTERS

Line = list[Segment]  # may be wider than the window, which then wraps it, and so copies it as one
CODE = Style(bold=True, color="cyan")  # on any background
THEME = Theme({"markdown.code": CODE, "markdown.table.border": "dim"})
GLUE = "\ue000"  # a space where no line ends


@dataclass
class View:
    """All that the window shows."""

    lesson: int  # the number of the one that is open
    course: list[tuple[str, str]]  # the title and the state of each
    page: str = ""  # Markdown
    files: tuple[str, ...] = ()  # to edit
    hint: str = ""  # Markdown, once it was asked for
    note: str = ""
    finding: Finding = Finding(False, "")  # noqa: RUF009
    busy: str = ""  # what is waited for
    offset: int = 0  # lines of the page above the window
    chosen: int = 0  # in the list of lessons, which is shown in place of the page; 0: it is not


class Commands(CodeBlock):
    """A block of commands; one with a language, such as VCL, is not broken."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text, width = str(self.text).rstrip(), options.max_width - 4
        for line in broken(text, width) if self.lexer_name == "text" else text.splitlines():
            yield Segment("    ")
            yield Segment(line, CODE + Style(meta={"whole": line}))  # a list would cut it
            yield Segment.line()


class Page(Markdown):
    """Markdown, in which a command in a sentence, too, is broken as one that is copied."""

    elements = {**Markdown.elements, "code_block": Commands, "fence": Commands}  # noqa: RUF012

    def __init__(self, text: str, width: int) -> None:
        super().__init__(text)
        table = False
        for token in self.parsed:
            table = token.type == "table_open" or (table and token.type != "table_close")
            for part in token.children or ():
                if part.type == "code_inline" and not table:
                    part.content = "\n".join(broken(part.content, width - 3)).replace(" ", GLUE)


def draw(view: View, width: int, height: int) -> tuple[list[Line], int]:
    """Progress, the page or the list, and below it what stays: verdict, question, keys.

    Return as many rows as the window has, and the offset that was possible.
    """
    head = lines_of(_head(view), width) + (lines_of(_files(view), width) if view.files else [])
    low = lines_of(_keys(view), width)
    room = height - rows(head, width) - 1
    if view.chosen:
        body, offset = lines_of(_list(view), width), view.chosen - (room - len(low)) // 2
    else:
        body, offset = lines_of(Page(view.page, width), width), view.offset
        if view.hint:
            body += [[], *lines_of("[bold]Hint[/]", width), *lines_of(Page(view.hint, width), width)]
        said = [*_said(view, width), *lines_of(Text(view.busy, "bold"), width)]
        if rows(said + low, width) <= room - 4:
            low = said + low
        else:  # a window of a few rows
            body += [[], *said]
    room -= rows(low, width)
    first = len(body)
    while first and rows(body[first - 1 :], width) <= room:
        first -= 1
    offset = end = max(0, min(offset, first))
    while end < len(body) and rows(body[offset : end + 1], width) <= room:
        end += 1
    more = f"↓ or space: {len(body) - end} more" if end < len(body) else "↑: back" if offset else ""
    empty = [list[Segment]()] * (room - rows(body[offset:end], width))
    rule = lines_of(Rule(more, style="dim", align="right"), width)
    return [*head, *body[offset:end], *empty, *rule, *low], view.offset if view.chosen else offset


def lines_of(drawn: RenderableType, width: int) -> list[Line]:
    """A renderable as lines without the spaces at their ends."""
    console = Console(file=StringIO(), width=width, force_terminal=True, highlight=False, theme=THEME)
    lines = []
    for segments in Segment.split_lines(console.render(drawn)):
        line = [Segment(_whole(one), one.style) for one in segments if not one.control]
        while line and not line[-1].text.strip():
            line.pop()
        lines.append([*line[:-1], *(Segment(one.text.rstrip(), one.style) for one in line[-1:])])
    return lines


def _whole(part: Segment) -> str:
    return (part.style and part.style.meta.get("whole")) or part.text.replace(GLUE, " ")


def rows(lines: Iterable[Line], width: int) -> int:
    """How many rows of the window lines take."""
    return sum(max(1, ceil(Segment.get_line_length(line) / width)) for line in lines)


def _head(view: View) -> Table:
    """The lesson's title, and a mark for each lesson of the course."""
    done = [state == "done" for _, state in view.course]
    bar = "".join("█" if one else "░" for one in done)
    head = Table.grid(expand=True)
    head.add_column()
    head.add_column(justify="right", no_wrap=True)
    title = f"Lesson {view.lesson}: {view.course[view.lesson - 1][0]}"
    head.add_row(Text(title, "bold"), Text(f" {bar} {sum(done)} of {len(done)}", "green"))
    return head


def _files(view: View) -> Text:
    """A link to each file to edit, which many terminals open."""
    links = (Text(file, Style(underline=True, link=(REPO / file).as_uri())) for file in view.files)
    return Text.assemble(("Edit ", "dim"), Text(", ").join(links))


def _said(view: View, width: int) -> list[Line]:
    """What the check has said, and the question."""
    finding, choices = view.finding, Table.grid(padding=(0, 1))
    verdict = Text(style="bold green" if finding.done else "")
    for number, part in enumerate(finding.verdict.split("`")):
        verdict.append(part, CODE if number % 2 else "")
    for letter, choice in zip(LETTERS, finding.choices, strict=False):
        choices.add_row(Text(letter, "bold"), Text(choice))
    parts: list[tuple[object, RenderableType]] = [
        (view.note, Text(view.note, "dim")),
        (finding.verdict, verdict),
    ]
    parts += [(finding.question, Page(finding.question, width)), (finding.choices, choices)]
    return [line for given, part in parts if given for line in lines_of(part, width)]


def _list(view: View) -> Table:
    """All lessons with their states."""
    course = Table.grid(padding=(0, 2))
    for number, (title, state) in enumerate(view.course, 1):
        chosen = number == view.chosen
        course.add_row(">" if chosen else " ", f"{number:2}", state, title, style="reverse" if chosen else "")
    return course


def _keys(view: View) -> Text:
    """What can be typed now."""
    keys = {"h": "hint", "l": "lessons", "r": "restore files", "g": "again", "q": "quit"}
    if view.chosen:
        keys = {"↑ ↓ or a number": "choose", "Enter": "open", "Esc": "back"}
    elif view.finding.done:
        keys = {"n": "next lesson", "l": "lessons", "g": "again", "q": "quit"}
    elif view.finding.choices:
        keys = {"a b c d": "answer", **keys}
    return Text.assemble(*(part for key, what in keys.items() for part in ((key, "bold"), f" {what}   ")))


def broken(commands: str, width: int) -> list[str]:
    """The lines of a block of commands, a copy of which still runs: one longer than `width` gets ` \\` and a
    line break at a space outside quotes and comments; what has no such space stays as long as it is.
    """
    lines, quote = list[str](), ""
    for line in commands.splitlines():
        spaces, quote = _spaces(line, quote)
        begin, indent, deeper = 0, "", " " * (len(line) - len(line.lstrip()) + 4)
        while len(indent) + len(line) - begin > width and spaces:
            fitting = [space for space in spaces if len(indent) + space - begin + 2 <= width]
            good = [at for at in fitting if line[at + 1] in "-|" or line[at - 1] == ";"]
            cut = max([at for at in good if at > begin + width // 2] or fitting, default=spaces[0])
            lines.append(f"{indent}{line[begin:cut]} \\")
            spaces = [space for space in spaces if space > cut]
            begin, indent = cut + 1, deeper
        lines.append(indent + line[begin:])
    return lines


def _spaces(line: str, quote: str) -> tuple[list[int], str]:
    """Where a line may be broken, and the quote that is open at its end; `quote` is open at its beginning."""
    spaces, escaped = list[int](), False
    for at, letter in enumerate(line):
        if escaped or (letter == "\\" and quote != "'"):
            escaped = not escaped
        elif quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "#" and line[at - 1 : at] in ("", " "):
            break  # a comment
        elif letter == " " and line[:at].strip():
            spaces.append(at)
    return spaces, quote
