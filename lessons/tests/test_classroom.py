"""A class: what is read from the learners' files, the table, the gradebook, the page; the copies' ports."""

import csv
import json
import re
import threading
from collections import Counter
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from lessons.checking.lesson import lessons
from lessons.classroom import status
from lessons.classroom.page import Handler, as_page
from lessons.classroom.status import Copy, EngineError, Result, as_csv, as_table, copies, health, read_result
from proscenium.settings import SETTINGS
from tests.stack import REPO

NOW = 1795390874.0
DONE = {"began": 5.0, "done": 9.0, "answers": 2, "attempts": 1}
BEST = {"began": 1.0, "done": 2.0, "answers": 1}


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ({"began": 7, "answers": 1, "attempts": 1}, Result(1, "begun", 1, 1, 7, 0, 7, True)),
        (DONE, Result(1, "done", 2, 1, 5, 9, 5)),
        (DONE | {"best": BEST, "attempts": 2}, Result(1, "done", 1, 2, 1, 2, 5)),
        (
            {"began": 7, "attempts": 2, "best": BEST, "said": "No."},
            Result(1, "done", 1, 2, 1, 2, 7, True, "No."),
        ),
    ],
)
def test_the_best_attempt_counts(kept: dict[str, Any], expected: Result, tmp_path: Path) -> None:
    (tmp_path / "01.json").write_text(json.dumps(kept))
    assert read_result(1, tmp_path) == expected
    assert read_result(2, tmp_path) == Result(2)


@pytest.mark.parametrize(
    "text",
    [
        *("{", "[]", "3", "null", "[" * 50_000, "\xff", '{"best": [1]}', '{"done": "x"}', '{"began": NaN}'),
        *('{"began": -1}', '{"began": 1e999}', '{"done": 1' + "0" * 400 + "}", '{"answers": [2]}'),
    ],
    ids=lambda text: text[:20],
)
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "01.json").write_text(text, encoding="latin-1")
    assert read_result(1, tmp_path) == Result(1, "damaged")


def test_every_copy_is_found_by_the_settings_that_were_handed_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status, "running_services", lambda: {"x-class-07": {"nginx": "healthy"}})
    (tmp_path / "07.env").write_text("# made\nCOMPOSE_PROJECT_NAME=x-class-07\nHTTP_PORT=20780\n")
    kept = tmp_path / "07" / ".run" / "x-class-07" / "lessons"
    kept.mkdir(parents=True)
    (kept / "02.json").write_text(json.dumps(DONE))
    [copy] = copies(tmp_path)
    assert (copy.number, copy.numbers("done")) == (7, "2")
    assert copy.health.startswith("varnish missing")
    assert len(copy.results) == len(lessons())


def test_health_names_what_is_not_healthy() -> None:
    all_healthy = dict.fromkeys(status.SERVICES, "healthy")
    assert health(all_healthy) == "healthy"
    assert health(all_healthy | {"backend": "exited"}) == "backend exited"
    assert health({}) == "down"


WORKING = Result(3, "begun", 0, 2, NOW - 1000, 0, NOW - 1000, True, "<script>alert(1)</script> {0}")
CLASS = [
    Copy(7, "healthy", [Result(1, "done", 1, 1, NOW - 3600, NOW - 3000, NOW - 3600)]),
    Copy(8, "down", [Result(1), WORKING, Result(4, "damaged")]),
]


def test_the_table_has_a_line_for_each_copy() -> None:
    _, first, second = as_table(CLASS).splitlines()
    assert first.split() == ["7", "1/1", "1", "healthy"]
    assert second.split() == ["8", "0/3", "-", "(3", "begun)", "(4", "damaged)", "down"]


def test_a_gradebook_gets_no_words_of_a_learner() -> None:
    text = as_csv(CLASS)
    assert "script" not in text
    rows = list(csv.DictReader(text.splitlines()))
    assert [(row["copy"], row["lesson"]) for row in rows] == [("7", "1"), ("8", "1"), ("8", "3"), ("8", "4")]
    assert (rows[0]["title"], rows[0]["state"], rows[0]["attempts"]) == (lessons()[0].title, "done", "1")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", rows[0]["done"])
    assert (rows[1]["began"], rows[1]["done"]) == ("", "")


def test_the_page_shows_first_who_has_spent_longest_and_runs_nothing_of_a_learner() -> None:
    text = as_page(CLASS, NOW)
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; {0}" in text
    first, second = re.findall(r"^<tr.*<td>.*", text, re.M)
    assert first.startswith('<tr class="long"><td>8<td>3<td>16 min<td>2<td>-')
    assert second.startswith("<tr><td>7<td>1<td>done<td>1<td>1")
    assert "lesson 3: 1" in text


def test_the_page_is_served_and_says_so_if_the_engine_does_not_answer() -> None:
    def ask() -> list[Copy]:
        raise EngineError("no <engine>")

    for asked, words in ((lambda: CLASS, "lesson 3: 1"), (ask, "no &lt;engine&gt;")):
        with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, asked)) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            with urlopen(f"http://127.0.0.1:{server.server_port}/") as response:
                assert words in response.read().decode()
            server.shutdown()


def test_a_copy_has_all_ports_and_no_two_are_the_same() -> None:
    text = (REPO / "bin" / "class").read_text()
    digits = dict(re.findall(r"\b([A-Z_]+_PORT)=(\d\d)\b", text))
    published = {each.name for each in SETTINGS if "published" in each.readers}
    assert digits.keys() | {"FTP_PASSIVE_PORTS"} == published | {"THEATRES_SWF_PORT"}
    assert set(Counter([*digits.values(), *map(str, range(22, 30))]).values()) == {1}
