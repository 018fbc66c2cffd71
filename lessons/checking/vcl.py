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
# Variables, functions of modules (vmods), and statements that bring in what this file does not say.
VARIABLE = r"(?:be)?(?:req|resp)|req_top|obj|client|server|local|remote|sess|storage"
NAME = re.compile(
    rf"\b(?:{VARIABLE})\.[\w.-]+|\bnow\b|\b[a-z_]\w*\.\w+(?= \()"
    r"|^(?:include|new|backend)\b|^import .*?(?=;)|\bvcl \("
)
OWN = re.compile(r"(?:req|resp|obj)\.http\.x-(?!forwarded|request-id|real-ip)[\w-]+")
TEXT = re.compile(r'"[^"]*"')
# What differs between clients, moments or names of one site, wherever the shipped files read it.
NEVER = re.compile(
    r"include|new|backend|now|req\.(?:time|xid|proto|transport|http\.host)"
    r"|(?:client|server|local|remote|sess)\..*"
)
# What any rule may read or use.
ANY = {"req.url", "req.method", "req.esi_level", "import std", "import cookie"}
ANY |= {f"{of}.{what}" for of in ("resp", "obj") for what in ("status", "ttl", "grace", "http.content-type")}
ANY |= {"resp.uncacheable"}
FUNCTION = re.compile(
    r"cookie\.\w+|std\.(?:tolower|toupper|strlen|integer|real|duration|collect|querysort|log|strstr|fnmatch|bytes)"
)


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
            inner = token["long"] or token["longer"] or token["short"] or ""
            word = '"{}"'.format(inner.replace('"', "\N{RIGHT DOUBLE QUOTATION MARK}"))
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


def reads(code: Iterable[str]) -> set[str]:
    """The variables and functions that these statements use, in lower case; bereq is req, beresp is resp.

    Not those that they only set, and no X- header that they have set before. `include`, `new` and
    `import NAME` bring in what the file does not say; `vcl (` is another VCL.
    """
    read: set[str] = set()
    own: set[str] = set()
    for statement in code:
        kept = re.sub(r"\bbe(?=re(?:q|sp)\.)", "", TEXT.sub('""', statement).lower())
        kept = kept.replace("req_top.", "req.")
        if found := re.match(r"(?:un)?set (\S+)", kept):
            kept = kept[found.end() :]
        read |= set(NAME.findall(kept)) - own
        if found and OWN.fullmatch(found[1]):
            own.add(found[1])
    return read


def sets(code: Iterable[str]) -> set[str]:
    """The variables that these statements set or unset, in lower case."""
    found = (re.match(r"(?:un)?set (\S+?);?(?: |$)", statement.lower()) for statement in code)
    return {each[1] for each in found if each}


def foreign(new: Iterable[str], shipped: Iterable[str], also: Iterable[str] = ()) -> list[str]:
    """What new statements use beyond ANY, the shipped file's own names, and `also`."""
    known = {name.removeprefix("be") for name in reads(shipped) | sets(shipped)}
    known -= {name for name in known if NEVER.fullmatch(name)}
    used = reads(new) - known - ANY - {name.lower().removeprefix("be") for name in also}
    return sorted(name for name in used if not FUNCTION.fullmatch(name))
