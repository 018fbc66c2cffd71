"""labs/ladder: one change from step to step, from classic.localhost to the default host."""

import difflib
import re
from pathlib import Path

import pytest

from labs.bench.lab_stack import LabStack
from labs.tests.running_lab import ask_often, needs_engine
from tests.stack import REPO

LAB = "ladder"
LADDER = REPO / "labs" / LAB
SITES = sorted((LADDER / "sites").iterdir(), key=lambda site: int(site.name.partition("-")[0]))
STEPS = [site.stem.partition("-")[2] for site in SITES]
HOSTS = [f"step-{number}.localhost" for number in range(len(SITES))]
SMALL = "/media/bench/small.swf"
TEXT = "/media/fox.svg"

# Directives that the ladder leaves out, because they change nothing on the load port; README.md says why.
LEFT_OUT = [
    r"include listeners/(http|comparison)\.conf|server_name .*",
    r"set \$(backend|backend_metrics|media|media_location) .*",
    r"limit_conn .*|client_max_body_size 16m",
    r"proxy_read_timeout \ds|proxy_next_upstream_timeout 3s",
    r"proxy_cache_use_stale error timeout http_502|error_page .*|recursive_error_pages on",
    r"include (proxying/(webcam|headers)|sites/refusals|observe/log\*|caching/old_copy)\.conf",
    r"rewrite \^ \$uri break",
]

# Directives that only the steps have. sendfile, which distributions ship, does nothing for data from Varnish.
ITS_OWN = {"include listeners/http.conf", "include ../ladder/headers.conf", "sendfile on", "tcp_nopush on"}


def directives(site: Path) -> list[str]:
    """The directives of a site without comments, log formats and unmeasured locations."""
    shared = (LADDER / "2011.conf").read_text()
    text = site.read_text().replace("    include ../ladder/2011.conf;\n", shared)
    text = re.sub(r"^\s*#.*$| #.*$", "", text, flags=re.M)
    text = re.sub(
        r"log_format [^;]*;|proxy_redirect [^;]*;|location (= /ws|/admin|/signup|/speech) \{[^}]*}", "", text
    )
    text = text.replace("Media $on_disk", "Media /.nginx/media")  # for a GET without conditions
    text = text.replace("${VARNISH_PASS}", "varnish")  # unless Varnish is on another machine
    text = re.sub(r"\$\{(\w+)}", r"\1", text)  # settings, no blocks
    words = re.sub(r"[{}]", ";", text)
    return [" ".join(one.split()) for one in words.split(";") if one.strip()]


def of_host(site: str) -> set[str]:
    """The directives that the ladder must have."""
    found = set(directives(REPO / "nginx" / "sites" / site))
    return {one for one in found if not any(re.fullmatch(pattern, one) for pattern in LEFT_OUT)}


def of_step(site: Path) -> set[str]:
    own = re.compile(r"server_name step-\d+\.localhost|set \$vcl \w+\.localhost")
    return {one for one in directives(site) if not own.fullmatch(one)} - ITS_OWN


def vcl_of(site: Path) -> str:
    return re.findall(r"set \$vcl (\w+)\.localhost;", site.read_text())[0]  # type: ignore[no-any-return]


def test_the_first_step_is_classic() -> None:
    assert of_step(SITES[0]) == of_host("classic.localhost.conf")
    assert vcl_of(SITES[0]) == "classic"


def test_the_last_step_is_the_default_host() -> None:
    """If this fails, the default host has changed: the change is a new step."""
    assert of_step(SITES[-1]) == of_host("default.conf.template")
    assert vcl_of(SITES[-1]) == "upstage"


# Directives that one step may change together.
CONCERNS = [
    r"proxy_pass \S+",
    r"proxy_http_version 1\.0",
    r"proxy_buffer(_size|s) .*",
    r"set \$vcl \S+",
    r"include caching/compression\.conf",
    r"(access|error)_log .*",
    r"proxy_cache .*|proxy_ignore_headers .*",
    r"sendfile on|tcp_nopush on",
    r"open_file_cache .*",
    r"include caching/large_media\.conf|proxy_set_header X-Accel-Media .*|proxy_ignore_headers .*",
]


@pytest.mark.parametrize("number", range(1, len(SITES)), ids=STEPS[1:])
def test_a_step_changes_one_thing(number: int) -> None:
    before, after = (
        [line for line in directives(site) if not line.startswith("server_name ")]
        for site in SITES[number - 1 : number + 1]
    )
    changed = [line[2:] for line in difflib.ndiff(before, after) if line[:2] in ("+ ", "- ")]
    assert changed
    assert any(all(re.fullmatch(pattern, line) for line in changed) for pattern in CONCERNS), changed


def test_the_headers_are_those_of_the_stack_except_for_the_host() -> None:
    ours, theirs = (
        re.findall(r"^proxy_set_header (\S+) +([^;]+);", file.read_text(), re.M)
        for file in (LADDER / "headers.conf", REPO / "nginx" / "proxying" / "headers.conf")
    )
    assert ours[0] == ("Host", "$vcl")
    assert theirs[0] == ("Host", "$host")
    assert ours[1:] == theirs[1:]


# --- On the running stack

Answer = tuple[str, int, dict[str, str]]


def ask(lab: LabStack, path: str, times: int, *hosts: str) -> list[Answer]:
    """GET requests over one connection for each host: the host, the status and the headers.

    NUMBER in the path makes each request unique for nginx's copies; the objects in Varnish are the same.
    """
    answers: list[Answer] = []
    for host in hosts:
        headers = {"Host": host, "Accept-Encoding": "gzip"}
        paths = [path.replace("NUMBER", f"{host}-{number}") for number in range(times)]
        received = ask_often(lab, "nginx", 8000, [(each, headers) for each in paths])
        answers += [(host, one.status, dict(one.headers)) for one in received]
    return answers


def seen_by_varnish(lab: LabStack) -> dict[str, tuple[str, ...]]:
    """Read protocol, listener, session and Host of each request ID from Varnish's log."""
    # The names of the fields: https://varnish-cache.org/docs/7.7/reference/varnishncsa.html
    form = "%{X-Request-Id}i %H %{VSL:ReqStart[3]}x %{VSL:Begin[2]}x %{Host}i"
    lines = lab.run("varnish", "varnishncsa", "-d", "-F", form).splitlines()
    return {line.split()[0]: tuple(line.split()[1:]) for line in lines}


@needs_engine
@pytest.mark.slow
def test_each_step_connects_to_varnish_in_its_own_way(lab: LabStack) -> None:
    times = 12
    said = ask(lab, f"{SMALL}?n=NUMBER", times, "classic.localhost", *HOSTS, "upstage.localhost")
    assert {status for _, status, _ in said} == {200}
    seen = seen_by_varnish(lab)
    ways: dict[str, list[tuple[str, ...]]] = {}
    for host, _, headers in said:
        ways.setdefault(host, []).append(seen[headers["x-request-id"]])
    found = {
        host: (
            *{(protocol, listener, vcl) for protocol, listener, _, vcl in way},
            # Every process of nginx keeps its own connections.
            len({session for _, _, session, _ in way}) < times,
        )
        for host, way in ways.items()
    }
    classic, kept = ("HTTP/1.0", "http", "classic.localhost"), "HTTP/1.1"
    expected = dict.fromkeys(STEPS, ((kept, "nginx", "upstage.localhost"), True))
    expected |= dict.fromkeys(["classic", "name"], (classic, False))
    expected["keep-alive"] = ((kept, "http", "classic.localhost"), True)
    expected |= dict.fromkeys(["socket", "buffers"], ((kept, "nginx", "classic.localhost"), True))
    assert [found[host] for host in HOSTS] == [expected[step] for step in STEPS]
    assert found["classic.localhost"] == found[HOSTS[0]]
    assert found["upstage.localhost"] == found[HOSTS[-1]]


# Different in every response, or the report of a cache that names its host.
OF_THE_MOMENT = {"age", "date", "x-request-id", "server-timing", "cache-status"}


@needs_engine
@pytest.mark.slow
@pytest.mark.parametrize("path", [SMALL, TEXT])
def test_the_first_and_the_last_step_answer_as_the_hosts_they_repeat(lab: LabStack, path: str) -> None:
    ends = {"classic.localhost": HOSTS[0], "upstage.localhost": HOSTS[-1]}
    said = ask(lab, path, 3, *ends, *ends.values())  # the last response counts: a hit
    answers = {
        host: (status, {name: value for name, value in headers.items() if name not in OF_THE_MOMENT})
        for host, status, headers in said
    }
    for host, step in ends.items():
        assert answers[step] == answers[host]


@needs_engine
@pytest.mark.slow
def test_each_step_compresses_text_in_nginx_or_in_varnish(lab: LabStack) -> None:
    compressed = {host: headers for host, _, headers in ask(lab, TEXT, 3, *HOSTS)}  # the last response: a hit
    for step, host in zip(STEPS, HOSTS, strict=True):
        assert compressed[host]["content-encoding"] == "gzip", step
        # Varnish knows the length of a stored object; nginx compresses while it sends.
        assert ("content-length" in compressed[host]) == (STEPS.index(step) >= STEPS.index("vcl")), step


@needs_engine
@pytest.mark.slow
@pytest.mark.parametrize("path", [SMALL, TEXT])
def test_from_the_micro_cache_on_nginx_answers(lab: LabStack, path: str) -> None:
    hit = 'nginx;desc="hit"'
    said = ask(lab, path, 200, *HOSTS)
    answered_by_nginx = {host for host, _, headers in said if hit in headers["server-timing"]}
    assert answered_by_nginx == set(HOSTS[STEPS.index("micro-cache") :])
