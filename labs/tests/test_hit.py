"""labs/hit: the variant `default` is the default host, and each other one differs from it in one thing."""

import re

import pytest

from tests.stack import REPO

LAB = REPO / "labs" / "hit"
SITES = {path.stem: path.read_text() for path in (LAB / "sites").iterdir()}
# The directives in which a variant differs from the default.
CHANGES = {
    "no-limits": {"limit_conn classic 65535"},
    "no-log": {"access_log off"},
    "common-log": {"access_log /dev/stdout combined buffer=4k flush=1s"},
    "no-headers": {'add_header X-None ""'},
    "no-id": {
        "add_header Cache-Status $cache_report always",
        "add_header Server-Timing $timing_report always",
        "add_header Age $age always",
        "access_log /dev/stdout no-id buffer=4k flush=1s",
    },
    "variable": {"proxy_pass http://varnish", "proxy_pass http://$varnish"},
    "any-spelling": {"rewrite ^ $uri break"},
    "closed-files": {"open_file_cache max=60 inactive=5s"},
}
BARE = ["no-limits", "no-log", "no-headers", "any-spelling"]


def directives(text: str) -> list[str]:
    """The directives, each in one line, without comments and braces."""
    text = re.sub(r"^\s*#.*$| #.*$", "", text, flags=re.M)
    return [" ".join(one.split()) for one in re.split(r"[;{}]", text) if one.strip()]


def test_the_variant_default_is_the_default_host() -> None:
    """If this fails, the default host has changed: change host.conf or location.conf, too."""
    host = (REPO / "nginx" / "sites" / "default.conf.template").read_text()
    host = re.sub(r"location (= /ws|/admin|/signup|/speech) \{[^}]*}", "", host)
    host = re.sub(r'"?\$\{(\w+)}"?', r"\1", host)
    host = host.replace("$on_disk", "/.nginx/media").replace("VARNISH_PASS", "varnish")
    lab = SITES["default"]
    for part in ("host", "location"):
        lab = lab.replace(f"include ../hit/{part}.conf;", (LAB / f"{part}.conf").read_text())
    unmeasured = re.compile(r"server_name .*|set .*|include (proxying/\w+|\.\./\w+/\w*headers)\.conf")
    theirs, ours = (
        {one for one in directives(each) if not unmeasured.fullmatch(one)} for each in (host, lab)
    )
    assert ours == theirs


def test_without_the_id_the_log_and_the_headers_are_the_same() -> None:
    logs = [REPO / "nginx" / "logging" / "access.conf", LAB / "sites.conf"]
    [theirs], [ours] = (re.findall(r"^log_format \S+ ([^;]*);", log.read_text(), re.M) for log in logs)
    assert ours == re.sub(r"'\s+'", "", theirs).replace(" id=$trace_id", "")
    headers = directives((REPO / "nginx" / "logging" / "response_headers.conf").read_text())
    wanted = {one for one in headers if one.startswith("add_header") and "X-Request-Id" not in one}
    assert wanted <= set(directives(SITES["no-id"]))


@pytest.mark.parametrize("variant", [*CHANGES, "bare"])
def test_a_variant_takes_out_one_thing(variant: str) -> None:
    ours, default = (set(directives(SITES[name])) for name in (variant, "default"))
    names = {f"server_name {name}.hit.localhost" for name in (variant, "default")}
    expected = set().union(*(CHANGES[name] for name in (BARE if variant == "bare" else [variant])))
    assert (ours ^ default) - names == expected
