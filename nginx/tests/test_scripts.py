"""start.sh, reload.sh and the files they write."""

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from front import PATH, Front, eventually
from tiers import LineMock, Mock, response


@pytest.fixture
def front() -> Iterator[Front]:
    """A front of house of each test's own, not running yet."""
    with Front() as front:
        yield front


@pytest.mark.parametrize(
    ("knob", "value"),
    [
        ("CLIENT_CONNECTIONS", "0"),
        ("CLIENT_CONNECTIONS", "many"),
        ("CLIENT_REQUESTS", "-1"),
        ("CLIENT_REQUESTS", "1.5"),
        ("LOGIN_REQUESTS", "1000000"),
        ("LOGIN_REQUESTS", "5; error_log /x"),
        ("CLIENT_STAGE_CONNECTIONS", " 5"),
        ("HTTPS_PORT", "443/x"),
        ("HTTPS_REDIRECT", "yes"),
        ("SERVER_NAMES", "a.example; return 200"),
        ("SERVER_NAMES", "a.example\nb.example"),
    ],
)
def test_a_knob_with_a_wrong_value_is_one_line(front: Front, knob: str, value: str) -> None:
    for script in ("start.sh", "reload.sh"):
        ended = front.script(script, **{knob: value})
        assert ended.returncode == 1
        assert ended.stdout.startswith(knob)
        assert value in ended.stdout
        assert len(ended.stdout.splitlines()) == 1 + value.count("\n")
    assert list(front.generated.iterdir()) == []


def test_an_empty_knob_is_its_default(front: Front) -> None:
    knobs = ("CLIENT_CONNECTIONS", "CLIENT_REQUESTS", "LOGIN_REQUESTS", "HTTPS_PORT", "HTTPS_REDIRECT")
    assert front.script("generate.sh", **dict.fromkeys(knobs, "")).returncode == 0
    limits = (front.generated / "limits.conf").read_text()
    for number in ("connections 400;", "rate=300r/s;", "burst=3000 ", "rate=30r/m;", "burst=30 "):
        assert number in limits
    assert "1000" in (front.generated / "limits-stage.conf").read_text()


@pytest.mark.parametrize(
    ("version", "written"),
    [
        ("1.22.1", "listen {}:{} ssl http2;\n"),
        ("1.25.0", "listen {}:{} ssl http2;\n"),
        ("1.25.1", "listen {}:{} ssl;\nhttp2 on;\n"),
        ("1.30.5", "listen {}:{} ssl;\nhttp2 on;\n"),
        ("1.9.5", "listen {}:{} ssl http2;\n"),
    ],
)
def test_http_2_is_spelled_for_this_version(front: Front, version: str, written: str) -> None:
    programs = front.folder / "bin"
    programs.mkdir()
    (programs / "nginx").write_text(f"#!/bin/sh\necho 'nginx version: nginx/{version} (Debian)' >&2\n")
    (programs / "nginx").chmod(0o755)
    assert front.script("generate.sh", PATH=f"{programs}:{PATH}").returncode == 0
    assert (front.generated / "listen-tls.conf").read_text() == written.format(front.address, front.secure)


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("nameserver 127.0.0.11\noptions ndots:0\n", "127.0.0.11"),
        ("search dns.podman\nnameserver 10.89.0.1\nnameserver 10.89.1.1 # two\n", "10.89.0.1 10.89.1.1"),
        ("nameserver fd00::1\nnameserver\tfe80::1%eth0\nnameserver fd00::2\n", "[fd00::1] [fd00::2]"),
        ("# nameserver 192.0.2.1\n", "127.0.0.1"),
        (None, "127.0.0.1"),
    ],
    ids=["docker", "podman", "ipv6", "none", "no-file"],
)
def test_the_name_servers_are_those_of_resolv_conf(front: Front, given: str | None, written: str) -> None:
    resolv_conf = front.folder / "resolv.conf"
    if given is not None:
        resolv_conf.write_text(given)
    front.knobs["RESOLV_CONF"] = str(resolv_conf)
    front.start()  # nginx accepts it, in http and in stream
    assert (front.generated / "resolver.conf").read_text() == f"resolver {written} valid=2s ipv6=off;\n"


def test_nginx_has_nothing_to_complain_about(front: Front) -> None:
    front.start()
    front.ask("/")
    assert not front.lines(r"\[(warn|error|crit|alert|emerg)\]"), front.log.read_text()


def test_the_second_house_is_known_while_it_is_there(front: Front) -> None:
    front.start()
    assert front.ask("/", "second.localhost").status == 421
    second = Mock("second", front.sockets / "second.sock")
    stage = LineMock("its stage", front.sockets / "second-stage.sock")
    try:
        assert front.script("reload.sh").returncode == 0
        # For a moment the old workers take connections, too.
        eventually(lambda: {front.ask("/", "second.localhost").text for _ in range(20)} == {"varnish"})
        assert front.varnish.seen[-1].headers["host"] == "second.localhost"
        assert front.ask("/ws", "second.localhost").text == "second"
        front.varnish.answer = lambda _: response(
            status="302 Found", location="http://second.localhost:8081/x"
        )
        assert front.ask("/", "second.localhost").headers["location"] == "/x"
        with front.connect(front.second_stage) as connection, connection.makefile("rb") as stream:
            assert stream.readline().startswith(b"PROXY TCP4 ")
    finally:
        second.close()
        stage.close()


def test_reload_under_load_loses_no_request(front: Front) -> None:
    front.start()
    failed: list[str] = []
    done = threading.Event()
    counts = [0, 0, 0, 0]

    def visit(number: int) -> None:
        while not done.is_set():
            try:
                answer = front.ask(f"/{number}", port=front.load)
                if answer.status != 200:
                    failed.append(str(answer))
            except OSError as error:
                failed.append(repr(error))
            counts[number] += 1
            time.sleep(0.003)  # each of these costs a port for a minute

    visitors = [threading.Thread(target=visit, args=[number]) for number in range(len(counts))]
    for visitor in visitors:
        visitor.start()
    for text in ("first", "second", "third"):
        front.edit("pages.conf", "There is a queue at the door", f"{text} There is a queue at the door")
        reloaded = front.script("reload.sh")
        assert (reloaded.returncode, reloaded.stdout) == (0, "")
        time.sleep(0.3)
    done.set()
    for visitor in visitors:
        visitor.join()
    assert failed == []
    assert min(counts) > 10


def test_reload_brings_the_new_files(front: Front) -> None:
    front.start()
    front.edit("common.conf", "return 204;", "return 200 new;")
    assert front.ask("/.nginx/health").status == 204
    assert front.script("reload.sh").returncode == 0
    eventually(lambda: front.ask("/.nginx/health").text == "new")


def test_reload_keeps_who_is_on_stage(front: Front) -> None:
    front.start()
    with front.connect(front.stage) as player:
        assert player.recv(100)
        front.edit("common.conf", "return 204;", "return 200 new;")
        assert front.script("reload.sh").returncode == 0
        eventually(lambda: front.lines("gracefully shutting down"))
        player.sendall(b"still here")
        assert player.recv(100) == b"STILL HERE"


def test_a_broken_file_is_refused_with_its_line(front: Front) -> None:
    front.start()
    site = front.conf / "sites" / "nginx.conf"
    site.write_text(site.read_text() + "\nserver { listen 99999; }\n")
    line = len(site.read_text().splitlines())
    refused = front.script("reload.sh")
    assert refused.returncode == 1
    assert f"{site}:{line}" in refused.stdout
    time.sleep(0.2)
    assert front.ask("/").status == 200
    assert front.process
    assert front.process.poll() is None
    front.lay_out()
    assert front.script("reload.sh").returncode == 0


def test_reload_without_a_running_nginx_fails(front: Front) -> None:
    assert front.script("reload.sh").returncode == 1


def test_readme_names_every_file_and_every_test() -> None:
    nginx = Path(__file__).parent.parent
    readme = (nginx / "README.md").read_text()
    named = set(re.findall(r"`((?:sites/|webcam/)?[\w-]+\.(?:conf|sh))`", readme))
    there = {
        str(path.relative_to(nginx))
        for pattern in ("*.conf", "*.sh", "sites/*.conf", "webcam/*")
        for path in nginx.glob(pattern)
    }
    assert named == there
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    rules = set(re.findall(r"`(test_\w+)`", readme)) - {path.stem for path in Path(__file__).parent.iterdir()}
    assert rules == set(re.findall(r"^def (test_\w+)", tests, re.M))
