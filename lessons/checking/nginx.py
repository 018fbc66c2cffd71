"""What new lines of an nginx file use."""

import re
from collections import Counter

from logs.inside import REPO

# Directives that choose by client or moment, or bring in what the file does not say.
CHOOSE = re.compile(r"(if|map|geo|split_clients|set|return|rewrite|error_page|js_\w+|perl\w*|random_index)\b")
INCLUDE = re.compile(r"include ([\w./-]+);")


def foreign(was: str, now: str) -> list[str]:
    """The variables, the choosing directives and the included files of lines that are only in `now`.

    A variable that `was` has is none of them, and a file of nginx/ is not.
    """
    known = set(re.findall(r"\$\{?(\w+)", was))
    used = set()
    for line in Counter(_lines(now)) - Counter(_lines(was)):
        used |= {f"${name}" for name in re.findall(r"\$\{?(\w+)", line) if name not in known}
        if found := CHOOSE.match(line):
            used.add(found[1])
        if line.startswith("include"):
            file = INCLUDE.match(line)
            if not file or not (REPO / "nginx" / file[1]).is_file():
                used.add(line)
    return sorted(used)


def _lines(text: str) -> list[str]:
    """Without comments and outer spaces."""
    return [" ".join(line.partition("#")[0].split()) for line in text.splitlines()]
