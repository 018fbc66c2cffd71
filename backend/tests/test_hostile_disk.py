"""A full disk: the client is told, and nothing is lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from running_backend import DRAWING, FORM, PASSWORD, Backend, Editor, ask, join, token_in
from upstage.state.database import Database
from upstage.state.records import NoRoom, new_stage

# While the file named on the command line is there, the disk is full.
RUN = """
import sys
from contextlib import contextmanager
from pathlib import Path
from upstage import cli
from upstage.state.database import Database
from upstage.state.records import NoRoom
full, writing = Path(sys.argv[1]), Database._writing
@contextmanager
def on_a_disk(database, *wait):
    with writing(database, *wait) as sql:
        yield sql
        if full.exists():
            raise NoRoom("the disk is full")
Database._writing = on_a_disk
sys.exit(cli.main(["serve"]))
"""


class Disk:
    """A server whose disk is full while the file `full` is there."""

    def __init__(self, folder: Path) -> None:
        self.full = folder / "full"
        self.server = self.start(folder)

    def start(self, folder: Path) -> Backend:
        command = ["-c", RUN, str(self.full)]
        return Backend(folder, command, UPSTAGE_ADMIN_PASSWORD=PASSWORD, UPSTAGE_SIGNUP="open")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    disk = Disk(tmp_path)
    yield disk
    disk.server.end()


def test_the_pages_report_a_full_disk_and_keep_their_data(disk: Disk) -> None:
    editor = Editor(disk.server)
    page = ask(disk.server, "/signup")
    cookie = page.headers["set-cookie"].partition(";")[0]
    visitor = f"csrf={token_in(page.body)}&username=new&password=12345678".encode()
    before = sorted(disk.server.media.iterdir())
    disk.full.touch()
    for answer in (
        editor.post("/admin/workshop/stages", action="make", id="attic", name="x"),
        editor.upload("/admin/workshop/media", DRAWING % b"x", name="x", kind="prop"),
        editor.post("/admin/workshop/players", action="add", name="ann", password="12345678"),
        ask(disk.server, "/signup", "POST", visitor, Cookie=cookie, **FORM),
    ):
        assert answer.status == 507
        assert b"disk is full" in answer.body
    assert sorted(disk.server.media.iterdir()) == before
    assert ask(disk.server, "/stages/attic").status == 404
    disk.full.unlink()
    assert editor.post("/admin/workshop/stages", action="make", id="attic", name="x").status == 302
    assert ask(disk.server, "/stages/attic").status == 200
    assert disk.server.logged("nothing was written")


def test_chat_on_a_full_disk_is_sent_and_written_later(disk: Disk, tmp_path: Path) -> None:
    client = disk.server.connect()
    join(client)
    disk.full.touch()
    for number in range(20):
        client.send_frames(b"msg=line-%d-&mode=TEXT" % number)
        client.frames_until(b"line-%d-&mode=ANONTEXT" % number)
    assert disk.server.logged("changes of stages are kept in memory until they can be written")
    disk.full.unlink()
    client.close()
    assert disk.server.stop() == 0
    disk.server = disk.start(tmp_path)
    log = ask(disk.server, "/stages/demo/log").body
    assert [log.count(b"line-%d-" % number) for number in range(20)] == [1] * 20


def test_a_full_database_changes_nothing(tmp_path: Path) -> None:
    database = Database(tmp_path)
    [pages] = database._sql.execute("PRAGMA page_count").fetchone()
    database._sql.execute(f"PRAGMA max_page_count = {pages}")

    def fill() -> None:
        for number in range(100):
            database.add_stage(new_stage(f"s{number}", "x" * 100))

    with pytest.raises(NoRoom):
        fill()
    stages = database.snapshot().stages
    assert stages.keys() == {f"s{number}" for number in range(len(stages))}
    database._sql.execute("PRAGMA max_page_count = 100000")
    database.add_stage(new_stage("new", "New"))
    database.close()
