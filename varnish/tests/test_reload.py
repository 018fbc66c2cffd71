"""`reload.sh` on a Varnish that is busy: nobody notices, and a broken file changes nothing."""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException

import pytest

from playhouse import Playhouse

VERSION = re.compile(r"^(?!discarded).*\b((?:classic|default)_\d\S*)", flags=re.M)


@pytest.fixture(autouse=True)
def _files_as_they_were(house: Playhouse) -> Iterator[None]:
    before = {vcl: vcl.read_text() for vcl in house.folder.glob("*.vcl")}
    yield
    for vcl, text in before.items():
        vcl.write_text(text)
    house.reload()


def versions(house: Playhouse) -> set[str]:
    return set(VERSION.findall(house.cli("vcl.list")))


def append(house: Playhouse, file: str, text: str) -> int:
    """Add lines to a file; tell the number of the first."""
    vcl = house.folder / file
    before = vcl.read_text()
    vcl.write_text(before + text)
    return before.count("\n") + 1


@contextmanager
def crowd(house: Playhouse) -> Iterator[list[str]]:
    """Four visitors who never stop asking; yields what went wrong."""
    wrong: list[str] = []
    over = threading.Event()
    asked = [0, 0, 0, 0]

    def visit(number: int) -> None:
        get = house.get if number % 2 else house.get_unix
        host = "classic.localhost" if number == 3 else "upstage.localhost"
        while not over.is_set():
            try:
                status = get(f"/media/{asked[number] % 50}.svg", {"Host": host}).status
            except (OSError, HTTPException) as problem:
                wrong.append(repr(problem))
            else:
                if status != 200:
                    wrong.append(str(status))
            asked[number] += 1

    visitors = [threading.Thread(target=visit, args=(number,)) for number in range(4)]
    for visitor in visitors:
        visitor.start()
    try:
        yield wrong
    finally:
        over.set()
        for visitor in visitors:
            visitor.join(20)
    assert min(asked) > 20, asked


def test_a_new_version_is_loaded_under_load_and_the_cache_stays_full(house: Playhouse) -> None:
    house.get("/media/kept.svg")
    with crowd(house) as wrong:
        for edition in "23456":
            for file in ("default.vcl", "classic.vcl"):
                append(house, file, f'sub vcl_deliver {{ set resp.http.X-Edition = "{edition}"; }}\n')
            done = house.reload()
            assert done.returncode == 0, done.stderr
            for host in ("upstage.localhost", "classic.localhost"):
                assert house.get("/", {"Host": host}).headers["X-Edition"] == edition
            time.sleep(0.3)
    assert wrong == []
    kept = house.get("/media/kept.svg")
    assert kept.headers["Cache-Status"].startswith("varnish; hit")


def test_old_versions_are_discarded(house: Playhouse) -> None:
    before = versions(house)
    assert len(before) == 2
    for _ in range(3):
        assert house.reload().returncode == 0
    after = versions(house)
    assert len(after) == 2
    assert not before & after


@pytest.mark.parametrize("file", ["default.vcl", "classic.vcl", "media.vcl"])
def test_a_broken_file_is_refused_with_its_name_and_line(house: Playhouse, file: str) -> None:
    before = versions(house)
    line = append(house, file, "sub vcl_recv { set req.http.Oops = ; }\n")
    with crowd(house) as wrong:
        done = house.reload()
        time.sleep(0.3)
    assert done.returncode == 1
    assert re.search(rf"{file}'? Line {line} ", done.stdout + done.stderr)
    assert versions(house) == before
    assert wrong == []
