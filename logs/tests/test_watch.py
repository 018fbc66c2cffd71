"""The lines of `make watch` for recorded requests, and for faults."""

import json
import queue
import re
import subprocess
from dataclasses import asdict
from itertools import chain, repeat
from pathlib import Path
from unittest.mock import create_autospec

import pytest

from faults.state import State
from logs import watch
from logs.watch import HELD, KEPT, PATIENCE, Faults, Joiner, Wanted
from proscenium.running import NotRunning, Process, Running

# Recorded with Varnish 7.7, without those records of varnishlog that `make watch` does not read.
CAPTURED = Path(__file__).parent / "captured"
NGINX = (CAPTURED / "nginx.txt").read_text().splitlines()
VARNISH = (CAPTURED / "varnish.txt").read_text().splitlines()
NOW = 1795390400.0  # after the last recorded request


def printed(joiner: Joiner, nginx: list[str], varnish: list[str]) -> list[str]:
    """Return the lines printed for the records of both logs."""
    for line in varnish:
        joiner.varnish("varnish", line)
    for line in nginx:
        joiner.nginx(line, NOW)
    return list(joiner.due(NOW + HELD + 1))


def rows(joiner: Joiner, nginx: list[str] = NGINX, varnish: list[str] = VARNISH) -> list[str]:
    """Return those lines with single spaces between the columns, and without times."""
    return [re.sub(r" \d+ ms", "", " ".join(row.split())) for row in printed(joiner, nginx, varnish)]


def test_each_request_says_which_server_answered_and_why() -> None:
    found = rows(Joiner(Wanted()))
    assert sorted(found) == sorted(
        [
            "nginx hit 200 localhost GET /media/fox.svg?pine (nginx has a copy of this second)",
            "backend miss 200 localhost GET /slow?pine (no usable copy; kept for 60 s)",
            "varnish hit 200 localhost GET /slow?pine",
            "backend pass 200 localhost GET /admin/id?pine (this path is never cached)",
            "backend miss 404 localhost GET /media/pine.svg (no usable copy; not stored: not a 200)",
            "backend hit-for-miss 404 localhost GET /media/pine.svg (the last response could not be stored)",
            "backend miss 200 classic.localhost GET /media/fox.svg?pine (shift-reload; kept for 43200 s)",
            "backend none 200 nginx.localhost GET /media/fox.svg?pine (no cache was asked)",
            "nginx disk 200 static.localhost GET /media/fox.svg?pine (nginx reads the file)",
            "backend none 200 static.localhost GET /stages/?pine (no cache was asked)",
            "nginx synth 421 unknown.example GET /?pine (nginx answers by itself)",
            "nginx disk 200 localhost GET /media/bench/big.swf?pine (nginx reads the file)",
            "backend none 404 localhost GET /media/video/u.jpg?pine (no cache was asked)",
            "varnish synth 405 localhost PURGE /media/fox.svg?pine (clients may not purge)",
            "varnish stale 200 localhost GET /stages/demo?pine (expired 1 s ago; fetched in the background)",
            "backend miss 200 localhost GET /media/fox.svg?pine (it was purged; kept for 43200 s)",
            "backend none 101 localhost GET /ws?pine (no cache was asked)",
            "varnish stale 200 localhost GET /stages/demo?pine (expired 3 s ago; the backend fails)",
            "varnish error 503 localhost GET /stages/?pine-2"
            " (backend upstage: fail errno 2 (No such file or directory))",
            "varnish refused 400 localhost GET /?pine-3 (it refuses such a message before any rule)",
            "nginx error 503 nginx.localhost GET /stages/?pine-2 (nginx's upstream does not answer)",
        ]
    )


def test_requests_are_in_order_although_the_workers_of_nginx_write_their_logs_one_by_one() -> None:
    slow = [row for row in rows(Joiner(Wanted(word="/slow")), NGINX[::-1]) if "/slow" in row]
    assert [row.split()[1] for row in slow] == ["miss", "hit"]


def test_host_visitor_and_word_choose() -> None:
    assert {row.split()[3] for row in rows(Joiner(Wanted(host="classic.localhost")))} == {"classic.localhost"}
    assert len(rows(Joiner(Wanted(word="/admin/id?pine", visitor="anonymous")))) == 1
    assert rows(Joiner(Wanted(word="/admin/id?pine", visitor="identified"))) == []
    assert rows(Joiner(Wanted(word="oak"))) == []


def test_the_times() -> None:
    """The backend's time is shown only if the client waited for it; nginx logs none for classic.localhost."""
    for word, host, patterns in (
        ("/slow", "", (r" 3\d\d ms +3\d\d ms  200", r" \d ms {12}200")),
        ("/stages/demo", "", (r" 0 ms {12}200", r" 3 ms {12}200")),
        ("", "classic.localhost", (r" 3 ms +1 ms  200",)),
    ):
        shown = printed(Joiner(Wanted(host=host, word=word)), NGINX, VARNISH)
        assert [
            row for row, pattern in zip(shown, patterns, strict=True) if not re.search(pattern, row)
        ] == []


def test_without_varnish_s_log_the_way_is_what_nginx_has_logged() -> None:
    found = rows(Joiner(Wanted(host="localhost")), varnish=[])
    assert "varnish hit 200 localhost GET /slow?pine" in found
    assert "varnish stale 200 localhost GET /stages/demo?pine" in found
    assert "backend pass 200 localhost GET /admin/id?pine" in found
    assert "backend hit-for-miss 404 localhost GET /media/pine.svg" in found


def when_shown(path: str, varnish: list[str]) -> float:
    """Return the seconds from the end of a request until its line is printed."""
    joiner = Joiner(Wanted())
    [line] = [line for line in NGINX if path in line]
    for text in varnish:
        joiner.varnish("varnish", text)
    joiner.nginx(line, NOW)
    ended = float(re.findall(r" at=([\d.]+)", line)[0])
    return next(tenths / 10 for tenths in range(100) if list(joiner.due(ended + tenths / 10 + 0.01)))


def test_a_line_waits_for_the_other_workers_and_for_the_log_of_varnish() -> None:
    assert when_shown("/media/video/", []) == HELD  # Varnish does not get such requests
    assert when_shown("/admin/id", VARNISH) == HELD
    assert when_shown("/admin/id", []) == PATIENCE


def test_the_logs_of_several_varnishes_are_read_side_by_side() -> None:
    joiner, group = Joiner(Wanted()), VARNISH[: VARNISH.index("") + 1]
    for line in group:
        for name in ("varnish", "varnish-2"):
            joiner.varnish(name, re.sub(r"(X-Request-Id: )\w+", rf"\1{name}", line))
    assert list(joiner._seen) == ["varnish", "varnish-2"]


def test_requests_that_nginx_never_logs_do_not_pile_up() -> None:
    joiner = Joiner(Wanted())
    group = VARNISH[: VARNISH.index("") + 1]
    for number in range(KEPT + 100):
        for line in group:
            joiner.varnish("varnish", re.sub(r"X-Request-Id: \w+", f"X-Request-Id: {number:032x}", line))
    assert len(joiner._seen) == KEPT


def test_a_fault_is_told_when_it_begins_and_when_it_ends(tmp_path: Path) -> None:
    file = tmp_path / "fault.json"
    faults = Faults(file)
    assert list(faults.news()) == []
    note = State("varnish-frozen", "Varnish hangs", "Pages wait.", broken=1.0)
    file.write_text(json.dumps(asdict(note)))
    [told] = faults.news()
    assert told.endswith("BROKEN on purpose: Varnish hangs. Users see: Pages wait.")
    assert list(faults.news()) == []
    file.write_text(json.dumps(asdict(note.ended())))
    [told] = faults.news()
    assert told.endswith("MENDED: Varnish hangs.")
    assert list(Faults(file).news()) == []  # it was repaired before the start


def test_the_log_of_a_varnish_that_ends_is_followed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader of the lines sees no difference between a worker and its successor."""
    runs = iter(["Log abandoned (vsl)\nFailed to acquire log: x\nLog reacquired\n- one\n", "\n- two\n"])

    stack = create_autospec(Running)
    answers = [NotRunning("restarting"), [], ["varnish-2"]]
    stack.services.side_effect = chain(answers, repeat(["varnish"]))

    def follow() -> Process:
        command = ["printf", "%s", next(runs, "")]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)

    monkeypatch.setattr(watch, "PAUSE", 0)
    monkeypatch.setattr(watch, "STARTING", 0)
    lines: watch.Lines = queue.Queue(maxsize=8)
    watch.Reader("varnish", stack, follow, lines)
    read = [lines.get(timeout=60)[1] for _ in range(8)]
    assert read == [None, None, "", "- one", None, "", "- two", None]


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ("die backend", "backend has stopped"),
        ("health_status: unhealthy nginx", "nginx is unhealthy"),
        ("pause varnish", "varnish is frozen"),
        ("die varnish-2", ""),  # Varnish's own log reports it
        ("exec_start: sh /health.sh nginx", ""),
        ("", ""),
    ],
)
def test_what_happens_to_a_service_is_a_line(event: str, said: str) -> None:
    assert watch.happened(event) == said
