"""Writes the files that are generated from settings.toml, topologies.toml and other data."""

import shlex
import textwrap
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

REPO = Path(__file__).resolve().parent.parent
PAGE = "nginx/sites/error_page.html"
CHECK = "nginx/scripts/check.sh"
FROM_SETTINGS = "# Written from settings.toml by `make settings`.\n"
CACHING_RULES = {  # the tables of docs/caching-rules.md, and their columns
    "path": ("rule", "folders", "endings"),
    "condition": ("request", "status", "why"),
    "case": ("rule", "host", "request", "header", "status", "first", "then"),
}
IN_VCL = {  # the variables in nginx's error page, and their names in Varnish
    "$page_title": "req.http.X-Title",
    "$page_text": "req.http.X-Message",
    "$status": "resp.status",
    "$trace_id": "req.http.X-Request-Id",
}


class Kind(NamedTuple):
    """The form that a value must have."""

    pattern: str
    must_be: str


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A setting, with the fields of settings.toml."""

    section: str
    name: str
    text: str
    kind: str
    default: str = ""
    example: str | None = None
    readers: tuple[str, ...] = ()
    default_in: Mapping[str, str] = field(default_factory=dict)
    published: bool | str = False

    def given(self, reader: str) -> str:
        """Return NAME=DEFAULT for a reader. The commands, whose name is empty, leave defaults to Compose."""
        return f"{self.name}={self.default_in.get(reader, self.default) if reader else ''}"

    def read_by(self, reader: str) -> bool:
        """Return whether nginx or Varnish reads the setting; for an empty name, whether neither does."""
        return reader in self.readers if reader else not self.readers


def shell_words(words: list[str], first: str, indent: str, last: str = "") -> str:
    """Return a command or an array, broken into lines of at most 127 columns."""
    lines = [indent + first]
    for word in map(shlex.quote, words):
        if len(lines[-1]) + len(word) > 127:
            lines.append(f"{indent}   ")
        lines[-1] += f" {word}"
    return (" \\\n" if not last else "\n").join(lines) + last + "\n"


TABLE = tomllib.loads((REPO / "settings.toml").read_text())
KINDS = {name: Kind(**kind) for name, kind in TABLE.pop("kinds").items()}
SETTINGS = [
    Setting(section=section, name=name, **fields)
    for section, rows in TABLE.items()
    for name, fields in rows.items()
]
FOR_USERS = [setting for setting in SETTINGS if setting.section != "internal"]
IN_EXAMPLE = [setting for setting in FOR_USERS if setting.section != "rare"]
ANALYTICS = tomllib.loads((REPO / "proscenium/analytics.toml").read_text())
TOPOLOGIES = tomllib.loads((REPO / "topologies.toml").read_text())
COMPARISON = [name for name in TOPOLOGIES if name not in ("default", "direct")]


def example() -> str:
    """Return the text of .env.example."""
    text = (
        "# The settings with their defaults. Copy this file to .env and edit it; no command changes .env.\n"
    )
    section = ""
    for setting in IN_EXAMPLE:
        if setting.section != section:
            section = setting.section
            text += f"\n# --- {section} ".ljust(118, "-") + "\n"
        for line in textwrap.wrap(setting.text, 118, break_on_hyphens=False):
            text += f"# {line}\n"
        value = setting.default if setting.example is None else setting.example
        text += "#" * (setting.example is not None) + f"{setting.name}={value}\n"
    return text


def checks(reader: str, indent: str = "") -> str:
    """Return the checks of the settings that nginx, Varnish or neither reads, as lines of a shell script."""
    lines = ""
    for name, kind in KINDS.items():
        read = [each for each in (SETTINGS if reader else FOR_USERS) if each.kind == name]
        if given := [each.given(reader) for each in read if each.read_by(reader)]:
            lines += shell_words([kind.must_be, kind.pattern, *given], "check", indent)
    return lines


def server_table(reader: str) -> str:
    """Return the shell file with the defaults and checks for nginx or Varnish."""
    return f"# shellcheck shell=sh\n{FROM_SETTINGS}\n{checks(reader)}"


def commands_table() -> str:
    """Return the commands' shell file: names, ports, sites, and checks of settings that no server reads."""

    def array(name: str, words: list[str]) -> str:
        return shell_words(words, f"{name}=(", "", ")").replace("( ", "(", 1)

    published = [each for each in FOR_USERS if each.published]
    labels = {name: TOPOLOGIES[name]["label"] for name in COMPARISON}
    sites = [f"{label[0].lower() + label[1:]:20} http://{name}.localhost" for name, label in labels.items()]
    return (
        "# shellcheck shell=bash disable=SC2034  # used by other scripts\n"
        + FROM_SETTINGS
        + "\n# The settings of a user, and those of them that the scripts of nginx and of Varnish check.\n"
        + array("settings", [each.name for each in FOR_USERS])
        + array("nginx_settings", [each.name for each in FOR_USERS if each.read_by("nginx")])
        + array("varnish_settings", [each.name for each in FOR_USERS if each.read_by("varnish")])
        + "# The ports of this machine: NAME=DEFAULT, and the Compose file of the extra that publishes it.\n"
        + array("ports", [f"{each.name}={each.default}" for each in published])
        + "declare -A published_by=("
        + "".join(f"\n    [{each.name}]={each.published}" for each in published if each.published is not True)
        + "\n)\n# The sites for comparisons (topologies.toml), as `make up` prints them, without the port.\n"
        + array("comparison", sites)
        + "\n# The settings that neither nginx nor Varnish reads.\ncheck_others() {\n"
        + checks("", "    ")
        + "}\n"
    )


def page_of_settings(reader: str, title: str) -> str:
    """Return the page with the settings of nginx or Varnish."""
    read = [setting for setting in SETTINGS if setting.read_by(reader)]
    names = ", ".join(f"`{setting.name}`" for setting in read if setting in IN_EXAMPLE)
    known = f"[`.env.example`](../.env.example) explains these settings: {names}. The others are:"
    shown = textwrap.fill(known, 125)
    lines = [
        f"# {title}'s settings",
        "",
        "Written from [`settings.toml`](../settings.toml) by `make settings`.",
        "",
    ]
    lines += [shown, "", "| variable | default | meaning |", "|---|---|---|"]
    for setting in read:
        if setting not in IN_EXAMPLE:
            default = f"`{setting.default}` " if setting.default else ""
            lines.append(f"| `{setting.name}` | {default}| {setting.text} |")
    return "\n".join(lines) + "\n"


def caching_rules() -> str:
    """Return the text of docs/caching-rules.md: its template, with the tables."""
    rules = tomllib.loads((REPO / "docs/caching-rules.toml").read_text())
    page = (REPO / "docs/caching-rules.md.template").read_text()
    for kind, columns in CACHING_RULES.items():
        lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
        for row in rules[kind]:
            cells = (row.get(column, "") for column in columns)
            line = " | ".join(
                " ".join(map("`{}`".format, cell)) if isinstance(cell, list) else str(cell) for cell in cells
            )
            lines.append(f"| {line} |".replace("|  |", "| |").replace("|  |", "| |"))
        page = page.replace(f"${{{kind}}}", "\n".join(lines))
    return page


def page() -> str:
    """Return the text of page.vcl: nginx's page, for Varnish."""
    html = (REPO / PAGE).read_text()
    for variable, value in IN_VCL.items():
        html = html.replace(variable, f'"}} + {value} + {{"')
    body = f'sub write_page {{\n    set resp.body = {{"{html}"}};\n}}\n'
    return f"# Written from {PAGE} by `make settings`.\n\n{body}"


def analytics() -> str:
    """Return the text of the starter's analytics.vcl."""

    def alternatives(kind: str) -> str:
        """Return all families' names as parts of one regular expression, joined by VCL's +."""
        lines = [""]
        for name in (name for family in ANALYTICS[kind].values() for name in family):
            if len(lines[-1]) + len(name) > 78:
                lines.append("")
            lines[-1] += f"|{name}"
        lines[0] = lines[0][1:]
        return "".join(f'            "{line}" +\n' for line in lines)

    return f"""# Arguments and cookies that only scripts in the browser read: without them a page is the same.
# Written from proscenium/analytics.toml of the whole stack on {ANALYTICS["day"]}. Add your own in
# IGNORE_ARGUMENTS and IGNORE_COOKIES.

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
    """Return the text of kustomization.yaml: kustomize has no wildcards, and reads no file above its own."""
    folders = [
        REPO / "nginx",
        *sorted((REPO / "nginx").iterdir()),
        REPO / "varnish",
        REPO / "starter/nginx",
        REPO / "starter/varnish",
        REPO / "policyd",
    ]
    left_out = {"tests", "app", "theatres", "observe", "edge"}  # Kubernetes needs none of these
    text = (REPO / "extras/kubernetes/kustomization.template.yaml").read_text()
    for folder in folders:
        if not folder.is_dir() or folder.name in left_out or folder.name.startswith((".", "_")):
            continue
        kinds = (".conf", ".template", ".html", ".sh", ".vcl", ".xml", ".js", ".txt")
        names = sorted(str(file.relative_to(REPO)) for file in folder.iterdir() if file.suffix in kinds)
        wrapped = textwrap.fill(", ".join(names), 110, break_on_hyphens=False).replace("\n", "\n      ")
        text += f"  - name: {str(folder.relative_to(REPO)).replace('/', '-')}\n    files: [{wrapped}]\n"
    return text


def files() -> dict[str, str]:
    """Return each file that is written as a whole, and its text."""
    names = ", ".join(f'"{name}"' for name in COMPARISON)
    compared = f"# Written from topologies.toml by `make settings`.\nnames = [{names}]\n"
    written = "# Written from topologies.toml of the whole stack by `make settings`.\n\n"
    return {
        ".env.example": example(),
        "backend/src/upstage/site/topologies.toml": written + (REPO / "topologies.toml").read_text(),
        "bin/lib/table.sh": commands_table(),
        "nginx/scripts/table.sh": server_table("nginx"),
        "nginx/settings.md": page_of_settings("nginx", "nginx"),
        "varnish/check.sh": f"# Written from {CHECK} by `make settings`.\n" + (REPO / CHECK).read_text(),
        "varnish/page.vcl": page(),
        "varnish/table.sh": server_table("varnish"),
        "varnish/settings.md": page_of_settings("varnish", "Varnish"),
        "docs/caching-rules.md": caching_rules(),
        "starter/varnish/analytics.vcl": analytics(),
        "kustomization.yaml": kustomization(),
        "loadtest/comparison.toml": compared,
    }


if __name__ == "__main__":
    for path, text in files().items():
        (REPO / path).write_text(text)
