"""The ladder: one change from step to step, from what classic.localhost does to what the default does."""

import difflib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import house as bench_house
from bench.experiment import load
from bench.house import House

REPO = Path(__file__).resolve().parents[2]
LADDER = REPO / "labs" / "ladder"
SITES = sorted((LADDER / "sites").iterdir(), key=lambda site: int(site.name.partition("-")[0]))
STEPS = [site.stem.partition("-")[2] for site in SITES]
HOSTS = [f"step-{number}.localhost" for number in range(len(SITES))]
SMALL = "/media/bench/small.swf"
TEXT = "/media/fox.svg"

# What a site has and the ladder leaves out, because it changes nothing for who measures; README.md says why.
LEFT_OUT = {
    "include listeners/http.conf",
    "server_name classic.localhost",
    "server_name upstage.localhost localhost 127.0.0.1 [::1] MORE",
    "limit_conn classic 100",
    "limit_conn classic_total 200",
    "limit_conn uploads 40",
    "include proxying/webcam.conf",
    "rewrite ^ $uri break",
    "proxy_read_timeout 5s",
    "proxy_read_timeout 2s",
    "proxy_cache_use_stale error timeout",
    "error_page 500 = @without_disk",
    "error_page 502 504 =503 /.nginx/page",
    "error_page 413 429 /.nginx/page",
    "client_max_body_size 16m",
    "include proxying/headers.conf",
}
# And what a step has instead. sendfile, which distributions ship, is nothing to what comes from Varnish.
ITS_OWN = {"include listeners/http.conf", "include ../ladder/headers.conf", "sendfile on", "tcp_nopush on"}


def directives(site: Path) -> list[str]:
    """The directives of a site, one a line, without comments, log formats and what is not measured."""
    text = re.sub(r"^\s*#.*$| #.*$", "", site.read_text(), flags=re.M)
    text = re.sub(
        r"log_format [^;]*;|proxy_redirect [^;]*;|location (= /ws|/admin|/signup|/speech) \{[^}]*}", "", text
    )
    text = text.replace("${SERVER_NAMES}", "MORE")  # a setting, no block
    words = re.sub(r"[{}]", ";", text)
    return [" ".join(one.split()) for one in words.split(";") if one.strip()]


def of_step(site: Path) -> set[str]:
    own = re.compile(r"server_name step-\d+\.localhost|set \$vcl \w+\.localhost")
    return {one for one in directives(site) if not own.fullmatch(one)} - ITS_OWN


def vcl_of(site: Path) -> str:
    return re.findall(r"set \$vcl (\w+)\.localhost;", site.read_text())[0]  # type: ignore[no-any-return]


def test_the_first_step_is_classic() -> None:
    assert of_step(SITES[0]) == set(directives(REPO / "nginx/sites/classic.conf")) - LEFT_OUT
    assert vcl_of(SITES[0]) == "classic"


def test_the_last_step_is_the_default_host() -> None:
    """If this fails the default host has changed: what it has gained is one step more."""
    assert of_step(SITES[-1]) == set(directives(REPO / "nginx/sites/default.conf.template")) - LEFT_OUT
    assert vcl_of(SITES[-1]) == "upstage"


# What one step may change: lines that are one thing to nginx, or to who reads them.
CONCERNS = [
    r"proxy_pass \S+",
    r"proxy_http_version 1\.0",
    r"proxy_buffer(_size|s) .*",
    r"set \$vcl \S+",
    r"include caching/compression\.conf",
    r"(access|error)_log .*",
    r"proxy_cache .*|proxy_ignore_headers .*",
    r"sendfile on|tcp_nopush on",
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


def test_headers_are_those_of_the_house_but_for_the_host() -> None:
    ours, theirs = (
        re.findall(r"^proxy_set_header (\S+) +([^;]+);", file.read_text(), re.M)
        for file in (LADDER / "headers.conf", REPO / "nginx" / "proxying" / "headers.conf")
    )
    assert ours[0] == ("Host", "$vcl")
    assert theirs[0] == ("Host", "$host")
    assert ours[1:] == theirs[1:]


def test_every_step_is_measured_on_its_own_host() -> None:
    cells = load(LADDER, "full").cells
    assert {cell.key["step"]: cell.settings["host"] for cell in cells} == dict(zip(STEPS, HOSTS, strict=True))
    for site, host in zip(SITES, HOSTS, strict=True):
        assert f"server_name {host};" in site.read_text()


# --- On the running house


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    if os.environ.get("ENGINE") != "yes":
        pytest.skip("no container engine (make test says why)")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench_house, "PROJECT", "proscenium-test-ladder")
        with House(LADDER, ["nginx", "varnish", "backend", "generator"]) as house:
            yield house


ASK = r"""
import http.client, json, sys
answers = []
for host in sys.argv[3:]:
    connection = http.client.HTTPConnection("nginx", 8000, timeout=20)
    for number in range(int(sys.argv[2])):
        # The query keeps the copies of nginx out of it, and Varnish's own are as good as any.
        path = sys.argv[1].replace("NUMBER", f"{host}-{number}")
        connection.request("GET", path, headers={"Host": host, "Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        answers.append([host, answer.status, len(answer.read()), headers])
print(json.dumps(answers))
"""
Answer = tuple[str, int, int, dict[str, str]]


def ask(house: House, path: str, times: int, *hosts: str) -> list[Answer]:
    """GET over one connection for each host; host, status, bytes of the body, and the headers."""
    printed = house.run("generator", "python3", "-c", ASK, path, str(times), *hosts)
    return [tuple(answer) for answer in json.loads(printed)]


def seen_by_varnish(house: House) -> dict[str, tuple[str, str, str, str]]:
    """For each request ID what Varnish says: protocol, listener, session, and the Host."""
    # The names of the fields are Varnish's: https://varnish-cache.org/docs/7.7/reference/varnishncsa.html
    form = "%{X-Request-Id}i %H %{VSL:ReqStart[3]}x %{VSL:Begin[2]}x %{Host}i"
    seen = {}
    for line in house.run("varnish", "varnishncsa", "-d", "-F", form).splitlines():
        request_id, *rest = line.split()
        seen[request_id] = tuple(rest)
    return seen  # type: ignore[return-value]


def test_how_each_step_speaks_to_varnish(house: House) -> None:
    times = 12
    said = ask(house, f"{SMALL}?n=NUMBER", times, "classic.localhost", *HOSTS, "upstage.localhost")
    assert {status for _, status, _, _ in said} == {200}
    seen = seen_by_varnish(house)
    ways: dict[str, list[tuple[str, str, str, str]]] = {}
    for host, _, _, headers in said:
        ways.setdefault(host, []).append(seen[headers["x-request-id"]])
    told = {
        host: (
            *{(protocol, listener, vcl) for protocol, listener, _, vcl in way},
            # Two processes of nginx, or more, keep connections of their own.
            len({session for _, _, session, _ in way}) < times,
        )
        for host, way in ways.items()
    }
    classic = ("HTTP/1.0", "http", "classic.localhost")
    expected = {
        "classic": (classic, False),
        "name": (classic, False),
        "keep-alive": (("HTTP/1.1", "http", "classic.localhost"), True),
        "socket": (("HTTP/1.1", "unix", "classic.localhost"), True),
        "buffers": (("HTTP/1.1", "unix", "classic.localhost"), True),
        "vcl": (("HTTP/1.1", "unix", "upstage.localhost"), True),
        "gzip": (("HTTP/1.1", "unix", "upstage.localhost"), True),
        "log": (("HTTP/1.1", "unix", "upstage.localhost"), True),
        "micro-cache": (("HTTP/1.1", "unix", "upstage.localhost"), True),
        "copy": (("HTTP/1.1", "unix", "upstage.localhost"), True),
        "disk": (("HTTP/1.1", "unix", "upstage.localhost"), True),
    }
    assert [told[host] for host in HOSTS] == [expected[step] for step in STEPS]
    assert told["classic.localhost"] == told[HOSTS[0]]
    assert told["upstage.localhost"] == told[HOSTS[-1]]


# Different in every answer, or the report of a cache that names its host.
OF_THE_MOMENT = {"age", "date", "x-request-id", "server-timing", "cache-status"}


@pytest.mark.parametrize("path", [SMALL, TEXT])
def test_the_ends_of_the_ladder_answer_as_the_hosts_they_stand_for(house: House, path: str) -> None:
    ends = {"classic.localhost": HOSTS[0], "upstage.localhost": HOSTS[-1]}
    said = ask(house, path, 3, *ends, *ends.values())  # the last answer counts: a hit
    answers = {
        host: (status, {name: value for name, value in headers.items() if name not in OF_THE_MOMENT})
        for host, status, _, headers in said
    }
    for host, step in ends.items():
        assert answers[step] == answers[host]


def test_who_compresses(house: House) -> None:
    packed = {host: headers for host, _, _, headers in ask(house, TEXT, 3, *HOSTS)}  # the last one: a hit
    for step, host in zip(STEPS, HOSTS, strict=True):
        assert packed[host]["content-encoding"] == "gzip", step
        # Varnish knows the length of what it has stored; nginx compresses while it sends.
        assert ("content-length" in packed[host]) == (STEPS.index(step) >= STEPS.index("vcl")), step


@pytest.mark.parametrize("path", [SMALL, TEXT])
def test_from_the_micro_cache_on_nginx_answers_itself(house: House, path: str) -> None:
    hit = 'nginx;desc="hit"'
    said = ask(house, path, 200, *HOSTS)
    answered_by_nginx = {host for host, _, _, headers in said if hit in headers["server-timing"]}
    assert answered_by_nginx == set(HOSTS[STEPS.index("micro-cache") :])
