"""What new statements of an nginx file use."""

import re

from proscenium.running import REPO

# Directives that choose by client or moment, or bring in what the file does not say.
CHOOSE = re.compile(
    r"(if|map|geo|split_clients|set|return|rewrite|error_page|allow|deny|ip_hash|random|js_\w+|perl\w*)\b"
)
INCLUDE = re.compile(r"include ([\w-][\w./-]*)")
TOKEN = re.compile(r"""#[^\n]*|"(?:\\.|[^"])*"|'(?:\\.|[^'])*'|\$\{\w+\}|[;{}]|\s+|[^\s;{}"'#$]+|.""")


def foreign(was: str, now: str) -> list[str]:
    """The variables, the choosing directives and the included files of statements that are only in `now`.

    A variable that `was` has is none of them, and a file of nginx/ is not.
    """
    known = set(re.findall(r"\$\{?(\w+)", was))
    used = set()
    for statement in statements(now) - statements(was):
        used |= {f"${name}" for name in re.findall(r"\$\{?(\w+)", statement) if name not in known}
        if found := CHOOSE.match(statement):
            used.add(found[1])
        if statement.startswith("include"):
            file = INCLUDE.fullmatch(statement)
            if not file or ".." in file[1] or not (REPO / "nginx" / file[1]).is_file():
                used.add(statement)
    return sorted(used)


def statements(text: str) -> set[str]:
    """Each directive with its arguments, without comments and with single spaces."""
    found, current = set(), ""
    for token in TOKEN.findall(text):
        if token in (";", "{", "}"):
            found.add(" ".join(current.split()))
            current = ""
        elif not token.startswith("#"):
            current += token
    return found
