"""Ways to pass a lesson without doing it. Each is refused."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

import test_lesson_03 as lesson_3
import test_lesson_10 as lesson_10
import test_lesson_11 as lesson_11
import test_lesson_13 as lesson_13
import test_lesson_14 as lesson_14
from school import COMMIT, Pupil
from test_lesson_01 import do


def test_a_rule_that_asks_who_the_client_is(pupil: Pupil) -> None:
    """Right for the check, and wrong for all others. tests/test_vcl.py has all that a rule may not use."""
    pupil.begin(3)
    right = lesson_3.RULE.replace("req.url ~", 'req.http.User-Agent ~ "curl" && req.url ~')
    lesson_3.write(pupil, right + every_cookie("req.url"))
    pupil.refused(r"The new rule in normalise\.vcl uses req\.http\.user-agent")


def every_cookie(condition: str) -> str:
    """A rule that drops every cookie."""
    return f"sub vcl_req_cookie {{ if ({condition}) {{ unset req.http.Cookie; }} }}"


URL = 'req.url ~ "^/stages/" && req.url !~'
SOME = "came from the cache|The rule is for /stages/ only|must still be passes"
OTHERS = "=me came from the cache|theme=A and theme=B must share|does the rule return"


@pytest.mark.parametrize(
    ("condition", "pattern", "refusal"),
    [
        pytest.param('req.url ~ "="', "", SOME, id="URLs like those of visitors"),
        pytest.param('req.http.Cookie !~ "who|upstage_visit"', "", SOME, id="cookies of an old check"),
        pytest.param(f'{URL} "^/stages/[?]"', "^/stages/[?]", OTHERS, id="URLs with a query"),
        pytest.param(f'{URL} "[?]k[0-9a-f]{{8}}$"', "[?]k[0-9a-f]{8}$", OTHERS, id="URLs with a word"),
    ],
)
def test_a_rule_that_is_right_for_some_requests(
    pupil: Pupil, condition: str, pattern: str, refusal: str
) -> None:
    """The right rule for the URLs of the pattern, and one that drops too much elsewhere."""
    pupil.begin(3)
    lesson_3.write(
        pupil, every_cookie(condition) + lesson_3.RULE.replace("^/stages/", pattern or "^/stages/")
    )
    pupil.refused(refusal)


def test_a_rule_from_another_file(pupil: Pupil) -> None:
    pupil.begin(3)
    pupil.stack.compose("exec", "-T", "varnish", "sh", "-c", "cat >/tmp/rule.txt", typed=lesson_3.RULE)
    lesson_3.write(pupil, 'include "/tmp/rule.txt";')
    pupil.refused(r"Varnish has loaded /tmp/rule\.txt, which is not a file of varnish/")


def test_a_page_that_is_assembled_with_a_query_only(pupil: Pupil) -> None:
    pupil.begin(13)
    pupil.get("/playbill?WORD")
    pupil.append(lesson_13.FILE, lesson_13.RULE.replace("if (", 'if (bereq.url ~ "[?]" && '))
    pupil.reload()
    lesson_13.look(pupil, "2", times=2)
    pupil.refused("A visitor without a query gets the page with its instructions")


def test_a_client_that_reads_first(pupil: Pupil) -> None:
    """What it has read counts as sent, too; nothing has been changed."""
    pupil.begin(14)
    lesson_14.run(pupil)
    program = (pupil.folder / lesson_14.PROGRAM).read_text()
    greedy = program.replace("receive_buffer=2048", "receive_buffer=900_000")
    pupil.stack.compose("exec", "-T", "locust", "python", "-", typed=greedy)
    pupil.refused("stage.conf.template in use is the shipped one")


def test_lines_that_the_backend_has_not_written(pupil: Pupil) -> None:
    pupil.begin(14)
    cut = {"event": "cut off", "reason": "laggard", "stage": "rehearsal"}
    for sent in (180_000, 950_000):
        line = json.dumps({"time": datetime.now(UTC).isoformat(), **cut, "sent": sent})
        pupil.stack.compose("exec", "-T", "backend", "sh", "-c", f"echo '{line}' >/proc/1/fd/1")
    pupil.refused("the backend has not written all of them")


def test_a_picture_that_no_server_compresses(pupil: Pupil) -> None:
    """And a download that ends early, for nginx to log fewer bytes."""
    pupil.begin(10)
    lesson_10.request(pupil, lesson_10.DIVA)
    url = f"/media/festival-winter-2.png?{pupil.word}"
    with socket.create_connection(("127.0.0.1", pupil.stack.ports["HTTP_PORT"])) as client:
        client.sendall(f"GET {url} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n".encode())
        client.recv(1000)
    pupil.refused("Varnish has compressed this picture with your word each time")


def test_a_version_of_http_that_was_typed(pupil: Pupil) -> None:
    pupil.begin(11)
    lesson_11.thirty(pupil, "before")
    lesson_11.keep_open(pupil)
    pupil.wait(2)
    lesson_11.thirty(pupil, "after")
    with socket.create_connection(("127.0.0.1", pupil.stack.ports["HTTP_PORT"])) as client:
        client.sendall(f"GET /media/fox.svg?{pupil.word} HTTP/2.0\r\nHost: localhost\r\n\r\n".encode())
        client.recv(1000)
    pupil.refused("No request with your word has come over HTTP/2 yet")


def test_four_answers_at_once(pupil: Pupil) -> None:
    """All are counted, up to the right one."""
    pupil.begin(1)
    do(pupil)
    pupil.right()
    with ThreadPoolExecutor(4) as pool:
        said = [text for _, text in pool.map(pupil.check, "abcd")]
    wrong = sum("\nNo: " in text for text in said)
    kept = json.loads((pupil.folder / f".run/{pupil.stack.project}/lessons/01.json").read_text())
    assert kept["answers"] == wrong + (kept["done"] > 0)


@pytest.mark.parametrize(
    "commands",
    [
        pytest.param("git update-index --skip-worktree varnish/store.vcl", id="skip-worktree"),
        pytest.param(
            "echo 'varnish/store.vcl filter=shipped' >.git/info/attributes\n"
            "git config filter.shipped.clean 'git show HEAD:varnish/store.vcl'",
            id="a filter",
        ),
        pytest.param(COMMIT, id="a commit"),
        pytest.param(f"{COMMIT}; git replace $(cat .run/*/lessons/shipped) HEAD", id="a replacement"),
    ],
)
def test_a_change_that_git_does_not_tell(pupil: Pupil, commands: str) -> None:
    """In place of bringing the shipped file back."""
    pupil.begin(2)
    pupil.get("/media/fox.svg?WORD")
    pupil.edit("varnish/media.vcl", "ttl = 12h", "ttl = 60s")
    pupil.edit("varnish/store.vcl", "grace = 24h", "grace = 23h")
    pupil.type(commands)
    try:
        pupil.reload()
        pupil.refused(r"varnish/store\.vcl differs from the shipped file")
    finally:
        pupil.type("rm -f .git/info/attributes .git/refs/replace/*")
        pupil.type("git update-index --no-skip-worktree varnish/store.vcl")
        pupil.restore()
    assert "23h" not in (pupil.folder / "varnish/store.vcl").read_text()


def test_a_line_of_nginx_that_was_written_by_hand(pupil: Pupil) -> None:
    """nginx's own line for one URL, as if it were of another."""
    pupil.begin(10)
    lesson_10.request(pupil, lesson_10.DIVA)
    pupil.stack.inside("varnishadm", "param.set", "http_gzip_support", "off")
    try:
        pupil.get(f"{lesson_10.DIVA}-2", accept_encoding="identity")
    finally:
        pupil.stack.inside("varnishadm", "param.set", "http_gzip_support", "on")
    pupil.wait(1.2)
    log = pupil.stack.inside("log", "nginx", "100").splitlines()
    line = next(line for line in log if pupil.word in line and "answered=backend:miss" in line)
    forged = line.replace(f"diva.svg?{pupil.word} ", f"diva.svg?{pupil.word}-2 ")
    pupil.stack.compose("exec", "-T", "nginx", "sh", "-c", "cat >/proc/1/fd/1", typed=forged + "\n")
    pupil.wait(1.2)
    pupil.refused("nginx has sent the copy that Varnish did not compress as it was")


@pytest.mark.parametrize("restart", [False, True])
def test_a_backend_that_is_only_called_sick(pupil: Pupil, restart: bool) -> None:
    pupil.begin(6)
    pupil.get("/?WORD")
    pupil.stack.inside("varnishadm", "backend.set_health", "*", "sick")
    try:
        pupil.wait(2)
        pupil.get("/?WORD")
        pupil.get("/stages/?WORD")
        if restart:
            pupil.stack.control("restart", "backend")
    finally:
        pupil.stack.inside("varnishadm", "backend.set_health", "*", "auto")
    pupil.stack.wait_until_ready()
    pupil.get("/stages/?WORD")
    pupil.refused("was not stopped and started|You have not requested|was running when you got")
