"""A full disk: the client is told, and nothing is lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from running_backend import DRAWING, FORM, PASSWORD, Backend, Editor, ask, join, token_in
from upstage.state.database import Database
from upstage.state.records import NoRoom, new_stage

# While the file named on the command line is there, the database may not grow: SQLite reports the same error
# as on a full disk.
RUN = """
import sys
from contextlib import contextmanager
from pathlib import Path
from upstage import cli
from upstage.state.database import Database
full, writing = Path(sys.argv[1]), Database._writing
@contextmanager
def on_a_disk(database, *wait):
    [pages] = database._sql.execute("PRAGMA page_count").fetchone()
    database._sql.execute(f"PRAGMA max_page_count = {pages if full.exists() else 1 << 30}")
    with writing(database, *wait) as sql:
        yield sql
Database._writing = on_a_disk
sys.exit(cli.main(["serve"]))
"""


class Disk:
    def __init__(self, folder: Path) -> None:
        self._flag = folder / "full"
        self.server = self.start(folder)

    def start(self, folder: Path) -> Backend:
        command = ["-c", RUN, str(self._flag)]
        return Backend(folder, command, UPSTAGE_ADMIN_PASSWORD=PASSWORD, UPSTAGE_SIGNUP="open")

    def fill(self) -> None:
        self._flag.touch()

    def clear(self) -> None:
        self._flag.unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    disk = Disk(tmp_path)
    yield disk
    disk.server.end()


def until_full(editor: Editor, prefix: str) -> int:
    """Add stages until there is no room; return how many."""
    for number in range(200):
        answer = editor.post("/admin/workshop/stages", action="make", id=f"{prefix}{number}", name="x" * 100)
        if answer.status != 302:
            assert answer.status == 507
            assert b"disk is full" in answer.body
            return number
    raise AssertionError("the disk is never full")


def test_the_workshop_reports_a_full_disk_and_keeps_its_data(disk: Disk) -> None:
    editor = Editor(disk.server)
    disk.fill()
    made = until_full(editor, "a")
    assert ask(disk.server, f"/stages/a{made}").status == 404
    before = sorted(path.name for path in disk.server.media.iterdir())
    for _ in range(30):  # until there is no room for a row of this kind either
        answer = editor.upload("/admin/workshop/media", DRAWING % b"x", name="x" * 100, kind="prop")
        if answer.status == 507:
            break
        assert answer.status == 302
        before.append(answer.headers["location"].rpartition("/")[2].partition("?")[0])
    assert answer.status == 507
    assert sorted(path.name for path in disk.server.media.iterdir()) == sorted(before)
    status = 0
    for number in range(60):
        status = editor.post(
            "/admin/workshop/players", action="add", name=f"p{number}", password="12345678"
        ).status
        if status != 302:
            break
    assert status == 507
    if made:
        assert ask(disk.server, "/stages/a0").status == 200
    disk.clear()
    assert editor.post("/admin/workshop/stages", action="make", id="again", name="x").status == 302
    assert ask(disk.server, "/stages/again").status == 200
    assert disk.server.logged("nothing was written")


def test_chat_on_a_full_disk_is_sent_and_written_later(disk: Disk, tmp_path: Path) -> None:
    client = disk.server.connect()
    join(client)
    disk.fill()
    for number in range(20):
        client.send_frames(b"msg=" + b"x" * 1900 + b"-%d-&mode=TEXT" % number)
        client.frames_until(b"-%d-&mode=ANONTEXT" % number)
    assert disk.server.logged("chat is kept in memory until it can be written")
    disk.clear()
    client.close()
    assert disk.server.stop() == 0
    disk.server = disk.start(tmp_path)
    log = ask(disk.server, "/stages/demo/log").body
    assert [log.count(b"x-%d-" % number) for number in range(20)] == [1] * 20


def test_a_full_database_changes_nothing(tmp_path: Path) -> None:
    database = Database(tmp_path)
    [pages] = database._sql.execute("PRAGMA page_count").fetchone()
    database._sql.execute(f"PRAGMA max_page_count = {pages}")
    stages = 0
    try:
        for _ in range(100):
            database.add_stage(new_stage(f"s{stages}", "x" * 100))
            stages += 1
    except NoRoom:
        pass
    assert stages < 100
    assert len(database.snapshot().stages) == stages
    database._sql.execute("PRAGMA max_page_count = 100000")
    database.add_stage(new_stage("new", "New"))
    database.close()


def test_a_form_of_thousands_of_fields(server: Backend) -> None:
    body = b"&".join(b"a%d=1" % number for number in range(5000))
    answer = ask(server, "/admin/login", "POST", body, **FORM)
    assert answer.status == 413
    assert b"Any other form may have 20 fields" in answer.body


def test_an_upload_without_a_session_gets_413(workshop: Backend) -> None:
    body = b"x" * 100_000
    answer = ask(
        workshop, "/admin/workshop/media", "POST", body, Content_Type="multipart/form-data; boundary=x"
    )
    assert answer.status == 413
    assert b"2 MB" in answer.body
    assert b"after signing in" in answer.body


def test_signing_up_on_a_full_disk_gets_507(disk: Disk) -> None:
    page = ask(disk.server, "/signup")
    cookie = page.headers["set-cookie"].partition(";")[0]
    disk.fill()
    editor = Editor(disk.server)
    until_full(editor, "b")
    for number in range(60):  # until there is no room for a player either
        player = {"name": f"p{number}", "password": "12345678"}
        if editor.post("/admin/workshop/players", action="add", **player).status == 507:
            break
    body = f"csrf={token_in(page.body)}&username=new&password=12345678".encode()
    answer = ask(disk.server, "/signup", "POST", body, Cookie=cookie, **FORM)
    assert answer.status == 507
    assert b"disk is full" in answer.body
