"""Data that survive a kill -9 and a restart, and changes from a shell while the server runs."""

import os
import sqlite3
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs

from backend.tests.fake_reactor import Worker
from backend.tests.forked import run_upstage
from backend.tests.running_backend import DRAWING, FORM, PASSWORD, Backend, Editor, ask, join, opened
from upstage.stage.kept import Change, Line
from upstage.state.database import LOCK_TIME
from upstage.state.records import Locked, NoRoom
from upstage.state.store import MAX_QUEUE, RETRY, SHORT_WAIT, Store


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., Backend]:
    """Return a function that starts a server, on the same folder each time."""

    def start(**environment: str) -> Backend:
        return Backend(tmp_path, **{"UPSTAGE_ADMIN_PASSWORD": PASSWORD, **environment})

    return start


Start = Callable[..., Backend]


def test_confirmed_changes_survive_a_kill_and_incomplete_uploads_do_not(start: Start) -> None:
    server = start()
    left = server.media / ".upload-abc"
    left.write_bytes(b"half a file")
    editor, client = Editor(server), server.on_stage()
    client.send_frames(b"msg=ahoy&mode=TEXT")
    client.frames_until(b"text=ahoy&mode=ANONTEXT")  # a line that was sent is on the disk
    dot = editor.bring("Dot")
    assert editor.post("/admin/workshop/stages/demo", action="put", file=dot).status == 302
    assert editor.post("/admin/workshop/stages/demo", action="take", kind="prop", id="1").status == 302
    assert editor.post("/admin/workshop/players", action="add", name="ann", password="12345678").status == 302
    server.kill()
    server = start()
    assert not left.exists()
    assert ask(server, "/stages/demo/log").body.count(b"<li> ahoy</li>") == 1
    assert any(b"ahoy" in frame and b"mode=LOAD_CHAT" in frame for frame in join(server.connect()))
    assert ask(server, f"/media/{dot}").body == DRAWING % b"Dot"
    demo = Editor(server).get("/admin/workshop/stages/demo").body
    assert (b'value="Dot"' in demo, b'value="Lantern"' in demo) == (True, False)
    Editor(server, "ann", "12345678")


def test_the_scene_and_a_sign_in_survive_a_kill_and_a_sign_out_does_too(start: Start) -> None:
    server = start()
    editor, left = Editor(server), Editor(server)
    client = server.on_stage(key=editor.key)
    client.send_frames(b"ID=1&mode=AV", b"X=33&Y=44&mode=MOVE", b"ID=1&mode=PROP", b"ID=2&mode=BACKDROP")
    client.send_frames(b"layer=1&mode=DRAW_LAYER", b"x=5&y=6&mode=DRAW_LINE")
    seen = client.frames_until(b"x=5&y=6&mode=DRAW_LINE")  # changes that were seen are on the disk
    assert b"ID=1&X=33.0&Y=44.0&Z=0&mode=AV_POS" in seen
    assert left.post("/admin/logout").status == 302
    server.kill()
    server = start()
    editor.backend = left.backend = server
    assert b"player=admin" in editor.get("/admin/id").body
    assert b"player=nice+visitor" in left.get("/admin/id").body
    client = server.connect()
    frames = join(client)
    assert b"layer=1&x=5&y=6&mode=DRAW_LINE" in frames
    [shown] = [frame for frame in frames if b"show=True" in frame and frame.endswith(b"LOAD_BACKDROP")]
    assert shown.startswith(b"ID=2&")
    client.send_frames(b"mode=LOADED")
    frames = client.frames_until(b"mode=CONFIRM_LOADED")
    assert b"ID=1&X=33.0&Y=44.0&Z=0&mode=AV_POS" in frames
    assert b"ID=1&prop=1&mode=BINDPROP" in frames
    assert server.upstage("stage", "reset", "demo")[0] == 0
    server.kill()  # a reset is forever
    frames = join(start().connect())
    assert not any(frame.endswith(b"DRAW_LINE") for frame in frames)


def test_the_administrators_password_can_be_set_later(start: Start) -> None:
    server = start(UPSTAGE_ADMIN_PASSWORD="")
    status, generated, _ = server.upstage("admin-password")
    assert status == 0
    Editor(server, "admin", generated.strip())
    server.end()
    server = start(UPSTAGE_ADMIN_PASSWORD="another one")
    Editor(server, "admin", "another one")
    server.end()
    server = start(UPSTAGE_ADMIN_PASSWORD="")
    assert server.upstage("admin-password") == (0, generated, "")
    assert server.upstage("admin-password", UPSTAGE_ADMIN_PASSWORD="mine") == (0, "mine\n", "")
    Editor(server, "admin", generated.strip())


def test_commands_change_players_while_the_server_runs(start: Start) -> None:
    server = start()
    admin = Editor(server)
    arguments = ("player", "add", "Ann", "--rights", "act,admin")
    assert server.upstage(*arguments, stdin="12345678\n") == (0, "", "")
    assert server.upstage("player", "list") == (0, "Ann\tact,admin\n", "")
    server.wait_for(lambda: b">Ann<" in admin.get("/admin/workshop/players").body)
    ann = Editor(server, "ann", "12345678")
    assert ann.get("/admin/workshop/stages").status == 200
    assert ann.get("/admin/workshop/players").status == 403
    assert server.upstage("player", "passwd", "Ann", stdin="87654321\n") == (0, "", "")
    server.wait_for(lambda: ann.get("/admin/workshop/stages").status == 302)  # it ends old sessions
    Editor(server, "Ann", "87654321")
    assert server.upstage("player", "remove", "ann") == (0, "", "")
    assert server.upstage("player", "list") == (0, "", "")


def test_commands_change_stages_while_the_server_runs(start: Start) -> None:
    server = start()
    assert server.upstage("stage", "add", "garden", "--name", "The garden") == (0, "", "")
    server.wait_for(lambda: ask(server, "/stages/garden").status == 200)
    _, stages, _ = server.upstage("stage", "list")
    assert "garden\tThe garden\n" in stages
    clients = demo, garden = server.on_stage(), server.on_stage(b"garden")

    def spoken_on() -> list[str]:
        return [id for id in ("demo", "garden") if b"ahoy" in ask(server, f"/stages/{id}/log").body]

    for client in clients:
        client.send_frames(b"msg=ahoy&mode=TEXT")
        client.frames_until(b"mode=ANONTEXT")
    assert server.upstage("stage", "reset", "demo") == (0, "", "")
    demo.frames_until(b"mode=RELOAD")
    assert spoken_on() == ["garden"]
    assert server.upstage("stage", "reset") == (0, "", "")
    for client in clients:
        client.frames_until(b"mode=RELOAD")
    assert spoken_on() == []
    assert server.upstage("stage", "remove", "garden") == (0, "", "")
    assert garden.receive_frame().startswith(b"msg=This+stage+has+been+closed")
    assert ask(server, "/stages/garden").status == 404


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (("player", "add", "a b"), "12345678\n", "A player's name must have"),
        (("player", "add", "ann"), "", "A password must have 8 to 200"),
        (("player", "add", "Admin"), "12345678\n", "UPSTAGE_ADMIN_PASSWORD"),
        (("player", "passwd", "bob"), "12345678\n", "There is no player bob"),
        (("stage", "add", "a/b"), "", "A stage's address must have"),
    ],
)
def test_commands_name_errors(seeded: Backend, arguments: tuple[str, ...], stdin: str, message: str) -> None:
    status, out, error = seeded.upstage(*arguments, stdin=stdin)
    assert (status, out) == (1, "")
    assert error.startswith("upstage: ")
    assert message in error


@pytest.mark.parametrize("command", [("player", "list"), ("admin-password",)])
def test_a_command_before_the_first_start_creates_nothing(tmp_path: Path, command: tuple[str, ...]) -> None:
    status, out, error = run_upstage(*command, env=os.environ | {"UPSTAGE_DATA": str(tmp_path)})
    assert (status, out) == (1, "")
    assert "created when the server starts" in error or "no password yet" in error
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Backend:
    server = Backend(tmp_path_factory.mktemp("seeded"))
    assert server.stop() == 0
    return server


class Disk(Worker):
    """A database whose disk works when the test says so, or slowly."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.written: list[tuple[str, Change]] = []
        self.said: list[str] = []
        self.waits: list[float] = []
        self.problem: Exception | None = None
        self.clock = Clock()
        self.store = Store(self, self.clock)  # type: ignore[arg-type]
        monkeypatch.setattr(self.store, "run", self.run)
        monkeypatch.setattr(self.store, "_thread", self)

    def keep(self, changes: Iterable[tuple[str, Change]], wait: float) -> None:
        self.waits.append(wait)
        if self.problem:
            raise self.problem
        self.written += changes

    def close(self) -> None:
        """Do nothing, in place of closing the database."""

    def stop(self) -> None:
        """Do nothing, in place of stopping the thread."""

    def hear(self, line: str) -> None:
        self.store.keep("demo", [Line(line)], partial(self.said.append, line))


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def test_a_line_is_sent_in_order_when_it_is_on_the_disk(disk: Disk) -> None:
    for line in ("one", "two", "three"):
        disk.hear(line)
    assert (disk.said, disk.written) == ([], [])
    disk.turn()
    assert disk.said == ["one"]  # the others have gathered in the meantime
    disk.hear("four")
    disk.turn()
    assert disk.said == ["one", "two", "three"]
    disk.turn()
    assert disk.said == ["one", "two", "three", "four"]
    assert disk.written == [("demo", Line(line)) for line in disk.said]
    assert not disk.waiting


@pytest.mark.parametrize(
    "problem",
    [
        NoRoom("the disk is full"),
        Locked("another program has it"),
        sqlite3.OperationalError("disk I/O error"),
    ],
)
def test_unwritten_lines_are_sent_at_once_and_written_later(disk: Disk, problem: Exception) -> None:
    disk.problem = problem
    disk.hear("one")
    disk.hear("two")
    with capturedLogs() as logged:
        disk.turn()
    assert [event["fields"]["reason"] for event in logged] == [str(problem)]
    assert disk.said == ["one", "two"]
    disk.hear("three")
    assert disk.said == ["one", "two", "three"]
    assert (disk.written, list(disk.waiting)) == ([], [])
    disk.clock.advance(RETRY)
    disk.hear("four")  # while earlier lines are being written
    assert disk.said == ["one", "two", "three", "four"]
    disk.turn()
    disk.problem = None
    disk.clock.advance(RETRY)
    disk.hear("five")
    disk.turn()
    disk.turn()
    assert disk.said == ["one", "two", "three", "four", "five"]
    assert disk.written == [("demo", Line(line)) for line in disk.said]
    assert disk.store.outcomes == {"kept": 5, "lost": 0}
    assert disk.waits == [SHORT_WAIT, 0, 0, 0]
    assert disk.clock.getDelayedCalls() == []
    disk.hear("six")
    assert disk.said[-1] == "five"  # again not before it is on the disk
    disk.turn()
    assert disk.said[-1] == "six"


def test_a_stop_writes_what_could_not_be_written_before(disk: Disk) -> None:
    disk.problem = Locked("another program has it")
    disk.hear("one")
    disk.turn()
    disk.clock.advance(RETRY)
    stopped = Deferred.fromCoroutine(disk.store.stop())
    disk.turn()  # the attempt that has begun
    disk.problem = None
    while disk.waiting:
        disk.turn()
    assert stopped.called
    assert disk.written == [("demo", Line("one"))]
    assert disk.waits == [SHORT_WAIT, 0, LOCK_TIME]
    assert disk.clock.getDelayedCalls() == []


def test_an_error_of_the_program_does_not_stop_the_chat(disk: Disk) -> None:
    disk.problem = TypeError("a bug")
    disk.hear("lost")
    with capturedLogs() as logged:
        disk.turn()
    assert disk.said == ["lost"]
    assert [event["log_format"] for event in logged] == ["changes of stages could not be written"]
    disk.problem = None
    disk.hear("kept")
    disk.turn()
    assert disk.said == ["lost", "kept"]
    assert disk.store.outcomes == {"kept": 1, "lost": 1}


def test_lines_that_wait_for_the_disk_are_bounded(disk: Disk) -> None:
    """If one more comes, all are sent, in order, and written later."""
    for number in range(MAX_QUEUE + 10):
        disk.hear(str(number))
    assert disk.said == [str(number) for number in range(MAX_QUEUE)]
    assert disk.store.outcomes["lost"] == 0
    disk.problem = Locked("another program has it")
    disk.turn()
    assert disk.said == [str(number) for number in range(MAX_QUEUE + 10)]
    assert (disk.store.queued, disk.store.outcomes["lost"]) == (MAX_QUEUE, 10)  # the oldest
    disk.hear("one more")
    assert (disk.store.queued, disk.store.outcomes["lost"]) == (MAX_QUEUE, 11)
    disk.problem = None
    disk.clock.advance(RETRY)
    while disk.waiting:
        disk.turn()
    assert disk.written == [("demo", Line(str(number))) for number in range(11, MAX_QUEUE + 10)] + [
        ("demo", Line("one more"))
    ]


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


def test_the_pages_report_a_full_disk_and_keep_their_data(tmp_path: Path) -> None:
    full = tmp_path / "full"
    server = Backend(tmp_path, ["-c", RUN, str(full)], UPSTAGE_ADMIN_PASSWORD=PASSWORD, UPSTAGE_SIGNUP="open")
    editor = Editor(server)
    cookie, csrf = opened(server, "/signup")
    visitor = f"csrf={csrf}&username=new&password=12345678".encode()
    before = sorted(server.media.iterdir())
    full.touch()
    for response in (
        editor.post("/admin/workshop/stages", action="make", id="attic", name="x"),
        editor.upload("/admin/workshop/media", DRAWING % b"x", name="x", kind="prop"),
        editor.post("/admin/workshop/players", action="add", name="ann", password="12345678"),
        ask(server, "/signup", "POST", visitor, Cookie=cookie, **FORM),
    ):
        assert response.status == 507
        assert b"disk is full" in response.body
    assert sorted(server.media.iterdir()) == before
    assert ask(server, "/stages/attic").status == 404
    full.unlink()
    assert editor.post("/admin/workshop/stages", action="make", id="attic", name="x").status == 302
    assert ask(server, "/stages/attic").status == 200
    assert server.logged("nothing was written")
    server.end()
