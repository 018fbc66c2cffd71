"""What a VCL file says, without comments, spacing and the different spellings of a duration.

https://varnish-cache.org/docs/7.7/reference/vcl.html
"""

import re
from collections import Counter
from collections.abc import Iterable

TOKEN = re.compile(
    r"""(?P<skip>   \s+ | \#[^\n]* | //[^\n]* | /\*.*?\*/ )
      | (?P<text>   \{"(?P<long>.*?)"\} | \"{3}(?P<longer>.*?)\"{3} | "(?P<short>[^"\n]*)" )
      | (?P<number> (?P<amount> \d+(?:\.\d+)? ) (?P<unit> ms|[smhdwy] )? \b )
      | (?P<word>   [A-Za-z_][\w.-]* )
      | (?P<mark>   && | \|\| | [-+*/=!<>]= | !~ | . )
    """,
    re.VERBOSE | re.DOTALL,
)
SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800, "y": 31536000}
# What can tell one client, or one moment, from another, and the headers of a request.
FACT = re.compile(
    r"\b(?:be)?req\.(?:http\.[\w-]+|xid|proto|transport)"
    r"|\b(?:client|server|local|remote|sess)\.[\w.]+|\bnow\b"
    r"|\bstd\.(?:random|time|timestamp|getenv|fileread|file_exists|ip|port)\b"
)
OWN = re.compile(r"(?:be)?(req\.http\.x-(?!forwarded|request-id|real-ip)[\w-]+)")
TEXT = re.compile(r'"[^"]*"')


def statements(text: str) -> list[str]:
    """The statements and heads of blocks, each in one spelling: `set beresp.ttl = 43200s;`."""
    found, tokens = [], []
    for token in TOKEN.finditer(text):
        word = token[0]
        if token["skip"]:
            continue
        if token["unit"]:
            word = f"{float(token['amount']) * SECONDS[token['unit']]:g}s"
        elif token["text"]:
            word = f'"{token["long"] or token["longer"] or token["short"] or ""}"'
        tokens.append(word)
        if word in ";{}":
            found.append(" ".join(tokens).removesuffix(" ;") + (";" if word == ";" else ""))
            tokens = []
    return found


def changes(old: str, new: str) -> tuple[list[str], list[str]]:
    """The statements that are only in the old text, and those that are only in the new one, in order."""
    return _without(statements(old), statements(new)), _without(statements(new), statements(old))


def _without(ours: list[str], others: list[str]) -> list[str]:
    left = Counter(ours) - Counter(others)
    kept = []
    for statement in reversed(ours):  # of equal ones, the last was added
        if left[statement]:
            left[statement] -= 1
            kept.append(statement)
    return kept[::-1]


def facts(code: Iterable[str]) -> set[str]:
    """What these statements read of FACT, in lower case; a header of bereq counts as that of req.

    An X- header that they set themselves is not one.
    """
    read: set[str] = set()
    own: set[str] = set()
    for statement in code:
        kept = TEXT.sub('""', statement).lower()
        if found := re.match(r"(?:un)?set (\S+)", kept):
            kept = kept[found.end() :]
        read |= {fact.removeprefix("be") for fact in FACT.findall(kept)} - own
        if found and (name := OWN.fullmatch(found[1])):
            own.add(name[1])
    return read
