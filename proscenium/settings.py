"""Writes what is made from settings.toml, topologies.toml and other data, for readers without them."""

import re
import shlex
import textwrap
import tomllib
from pathlib import Path
from typing import NamedTuple

REPO = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- from settings.toml -->\n", "\n<!-- end -->\n"
PAGE = "nginx/sites/error_page.html"
CACHING_RULES = {  # the tables of docs/caching-rules.md, and their columns
    "path": ("rule", "folders", "endings"),
    "condition": ("request", "status", "why"),
    "case": ("rule", "host", "request", "header", "status", "first", "then"),
}
IN_VCL = {  # the variables of that page, as Varnish has them
    "$page_title": "req.http.X-Title",
    "$page_text": "req.http.X-Message",
    "$status": "resp.status",
    "$trace_id": "req.http.X-Request-Id",
}
SHELL = """\
# shellcheck shell=sh disable=SC2154  # eval assigns value
# Written from settings.toml by `make settings`.

# check MEANING PATTERN NAME=DEFAULT...: each is empty, which means its default, or one line that matches
# the extended regular expression.
newline='
'
check() {
    meaning=$1 pattern=$2
    shift 2
    for setting; do
        name=${setting%%=*} && eval "value=\\${$name:-}"
        case $value in
        '') export "${setting?}" ;;
        *"$newline"*) false ;;
        *) printf '%s' "$value" | grep -Eqxe "$pattern" ;;
        esac || die "$name must be $meaning, not '$value'"
    done
}

"""


class Setting(NamedTuple):
    """A row of the table."""

    section: str
    name: str
    default: str
    kind: str
    readers: str
    meaning: str

    def words(self, reader: str) -> list[str]:
        """NAME=DEFAULT as nginx or Varnish has it; none if it does not read this setting."""
        readers = self.readers.split()
        words = {reader: f"{self.name}={self.default}", f"{reader}=": f"{self.name}="}
        return [words[each] for each in readers if each in words]


TABLE = tomllib.loads((REPO / "settings.toml").read_text())
KINDS: dict[str, tuple[str, str]] = TABLE.pop("kinds")
SETTINGS = [Setting(section, name, *row) for section, rows in TABLE.items() for name, row in rows.items()]
FOR_USERS = [setting for setting in SETTINGS if setting.section != "internal"]
ANALYTICS = tomllib.loads((REPO / "proscenium/analytics.toml").read_text())
TOPOLOGIES = tomllib.loads((REPO / "backend/src/upstage/site/topologies.toml").read_text())
COMPARISON = [name for name in TOPOLOGIES if name not in ("default", "direct")]


def example() -> str:
    """The text of .env.example."""
    text = "# Every setting with its default. Copy this file to .env and edit it; no command changes .env.\n"
    section = ""
    for setting in FOR_USERS:
        if setting.section != section:
            section = setting.section
            text += f"\n# --- {section} ".ljust(118, "-") + "\n"
        for line in textwrap.wrap(setting.meaning, 118, break_on_hyphens=False):
            text += f"# {line}\n"
        commented = setting.default.startswith("#")
        text += "#" * commented + f"{setting.name}={setting.default[commented:]}\n"
    return text


def checks(reader: str) -> str:
    """The shell file with the defaults and checks of nginx or Varnish."""
    lines = []
    for kind, (pattern, meaning) in KINDS.items():
        if words := [word for each in SETTINGS if each.kind == kind for word in each.words(reader)]:
            lines.append("check")
            for word in map(shlex.quote, (meaning, pattern, *words)):
                if len(lines[-1]) + len(word) > 127:
                    lines[-1] += " \\"
                    lines.append("   ")
                lines[-1] += f" {word}"
    return SHELL + "\n".join(lines) + "\n"


def readme(reader: str) -> str:
    """The README of nginx or Varnish, with its part about settings."""
    read = [setting for setting in SETTINGS if setting.words(reader)]
    names = ", ".join(f"`{setting.name}`" for setting in read if setting in FOR_USERS)
    lines = textwrap.wrap(f"Those of [`.env.example`](../.env.example): {names}; and these:", 125)
    lines += ["", "| variable | default | meaning |", "|---|---|---|"]
    for setting in read:
        if setting not in FOR_USERS:
            default = f"`{setting.default}` " if setting.default else ""
            lines.append(f"| `{setting.name}` | {default}| {setting.meaning} |")
    return replaced(f"{reader}/README.md", BEGIN, "\n".join(lines), END)


def caching_rules() -> str:
    """docs/caching-rules.md, with its tables."""
    rules = tomllib.loads((REPO / "docs/caching-rules.toml").read_text())
    page = (REPO / "docs/caching-rules.md").read_text()
    for kind, columns in CACHING_RULES.items():
        lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
        for row in rules[kind]:
            cells = (row.get(column, "") for column in columns)
            line = " | ".join(
                " ".join(map("`{}`".format, cell)) if isinstance(cell, list) else str(cell) for cell in cells
            )
            lines.append(f"| {line} |".replace("|  |", "| |").replace("|  |", "| |"))
        before, begin, rest = page.partition(f"<!-- each {kind} of caching-rules.toml -->\n")
        page = before + begin + "\n".join(lines) + END + rest.partition(END)[2]
    return page


def replaced(path: str, begin: str, text: str, end: str) -> str:
    """The text of a file with another part between these words."""
    before, _, rest = (REPO / path).read_text().partition(begin)
    return before + begin + text + end + rest.partition(end)[2]


def page() -> str:
    """The text of page.vcl: nginx's page, for Varnish."""
    html = (REPO / PAGE).read_text()
    for variable, value in IN_VCL.items():
        html = html.replace(variable, f'"}} + {value} + {{"')
    body = f'sub write_page {{\n    set resp.body = {{"{html}"}};\n}}\n'
    return f"# Written from {PAGE} by `make settings`.\n\n{body}"


def analytics() -> str:
    """The text of the starter's analytics.vcl."""

    def alternatives(kind: str) -> str:
        """The names of all families as parts of one regular expression, joined by VCL's +."""
        lines = [""]
        for name in (name for family in ANALYTICS[kind].values() for name in family):
            if len(lines[-1]) + len(name) > 78:
                lines.append("")
            lines[-1] += f"|{name}"
        lines[0] = lines[0][1:]
        return "".join(f'            "{line}" +\n' for line in lines)

    return f"""# Arguments and cookies that only scripts in the browser read: without them a page is the same.
# Written from proscenium/analytics.toml of the whole stack on {ANALYTICS["day"]}. Yours: IGNORE_ARGUMENTS,
# IGNORE_COOKIES.

include "./ignored.vcl";

sub drop_analytics {{
    call drop_ignored;
    if (req.url ~ "\\?") {{
        set req.url = regsuball(req.url,
            "(?<=[?&])(" +
{alternatives("arguments")}            ")(=[^&]*)?(&|$)", "");
        set req.url = regsub(req.url, "[?&]$", "");
    }}
    if (req.http.Cookie) {{
        set req.http.Cookie = regsuball(";" + req.http.Cookie,
            "; *(" +
{alternatives("cookies")}            ") *=[^;]*", "");
        set req.http.Cookie = regsub(req.http.Cookie, "^[; ]+", "");
        if (req.http.Cookie == "") {{
            unset req.http.Cookie;
        }}
    }}
}}
"""


def kustomization() -> str:
    """The text of kustomization.yaml: kustomize knows no wildcards, and reads no file above its own."""
    folders = [
        REPO / "nginx",
        *sorted((REPO / "nginx").iterdir()),
        REPO / "varnish",
        REPO / "starter/nginx",
        REPO / "starter/varnish",
        REPO / "policyd",
    ]
    left_out = {"tests", "app", "theatres", "observe", "edge"}  # on Kubernetes there is none of these
    text = (REPO / "extras/kubernetes/kustomization.template.yaml").read_text()
    for variable in ("NGINX_IMAGE", "VARNISH_IMAGE"):
        [image] = re.findall(rf"\$\{{{variable}:-([^}}]+)}}", (REPO / "hardened.yaml").read_text())
        text = text.replace(variable, f"newTag: {image.partition(':')[2]}")
    for folder in folders:
        if not folder.is_dir() or folder.name in left_out or folder.name.startswith((".", "_")):
            continue
        kinds = (".conf", ".template", ".html", ".sh", ".vcl", ".xml", ".js", ".txt")
        names = sorted(str(file.relative_to(REPO)) for file in folder.iterdir() if file.suffix in kinds)
        wrapped = textwrap.fill(", ".join(names), 110, break_on_hyphens=False).replace("\n", "\n      ")
        text += f"  - name: {str(folder.relative_to(REPO)).replace('/', '-')}\n    files: [{wrapped}]\n"
    return text


def files() -> dict[str, str]:
    """Each file that is made from the tables or has a part that is, and its text."""
    hosts = ", ".join(f"{name}.localhost" for name in ("upstage", *COMPARISON, "direct"))
    names = ", ".join(f'"{name}"' for name in COMPARISON)
    printed = ""
    for name in COMPARISON:
        label = TOPOLOGIES[name]["label"]
        printed += f"\n    {label[0].lower() + label[1:]:20} http://{name}.localhost:$HTTP_PORT/"
    return {
        ".env.example": example(),
        "nginx/scripts/table.sh": checks("nginx"),
        "nginx/README.md": readme("nginx"),
        "varnish/page.vcl": page(),
        "varnish/table.sh": checks("varnish"),
        "varnish/README.md": readme("varnish"),
        "docs/caching-rules.md": caching_rules(),
        "bin/up": replaced("bin/up", 'others="', printed, '"\n'),
        "starter/varnish/analytics.vcl": analytics(),
        "kustomization.yaml": kustomization(),
        "compose.yaml": replaced("compose.yaml", "aliases: [", hosts, "]"),
        "loadtest/topologies.py": replaced("loadtest/topologies.py", "COMPARISON = [", names, "]"),
    }


if __name__ == "__main__":
    for path, text in files().items():
        (REPO / path).write_text(text)
