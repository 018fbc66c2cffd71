"""Data that survive a kill -9 and a restart, and changes from a shell while the server runs."""

import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs

from running_backend import PASSWORD, Backend, Editor, ask, join
from upstage.stage.kept import Change, Line
from upstage.state.database import FILE, LOCK_TIME
from upstage.state.records import Locked, NoRoom
from upstage.state.store import MAX_QUEUE, RETRY, SHORT_WAIT, Store


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., Backend]:
    """Starts a server on the same folder each time."""

    def start(**environment: str) -> Backend:
        return Backend(tmp_path, **{"UPSTAGE_ADMIN_PASSWORD": PASSWORD, **environment})

    return start


Start = Callable[..., Backend]


def test_confirmed_changes_survive_a_kill_and_incomplete_uploads_do_not(start: Start) -> None:
    server = start()
    left = server.media / ".upload-abc"
    left.write_bytes(b"half a file")
    editor = Editor(server)
    assert editor.post("/admin/workshop/stages", action="make", id="mine", name="Mine").status == 302
    drawing = b"<svg xmlns='http://www.w3.org/2000/svg'/>"
    where = editor.upload("/admin/workshop/media", drawing, name="Dot", kind="prop").headers["location"]
    file = where.rpartition("/")[2].partition("?")[0]
    assert editor.post("/admin/workshop/stages/demo", action="take", kind="prop", id="1").status == 302
    assert editor.post("/admin/workshop/stages/mine", action="put", file=file).status == 302
    assert editor.post("/admin/workshop/players", action="add", name="ann", password="12345678").status == 302
    server.kill()
    server = start()
    editor = Editor(server)
    assert b'value="Dot"' in editor.get("/admin/workshop/stages/mine").body
    assert ask(server, f"/media/{file}").body == drawing
    assert not left.exists()
    assert b'value="Lantern"' not in editor.get("/admin/workshop/stages/demo").body
    assert b">ann<" in editor.get("/admin/workshop/players").body
    Editor(server, "ann", "12345678")


def test_chat_survives_a_kill_and_a_stop(start: Start) -> None:
    server = start()
    client = server.connect()
    join(client)
    for number in range(100):
        client.send_frames(f"msg=line%20{number}&mode=TEXT".encode())
    client.frames_until(b"text=line+99&mode=ANONTEXT")  # a line that was sent is in the log
    server.kill()
    server = start()
    log = ask(server, "/stages/demo/log").body
    assert [log.count(f"<li> line {number}</li>".encode()) for number in range(100)] == [1] * 100
    client = server.connect()
    assert any(b"line+99" in frame and b"mode=LOAD_CHAT" in frame for frame in join(client))
    for number in range(100, 150):  # and then SIGTERM immediately: sent lines are written first
        client.send_frames(f"msg=line%20{number}&mode=TEXT".encode())
    client.frames_until(b"text=line+149&mode=ANONTEXT")
    server.end()
    server = start()
    assert b"line 149</li>" in ask(server, "/stages/demo/log").body


def test_the_administrators_password_can_be_set_later(start: Start) -> None:
    server = start(UPSTAGE_ADMIN_PASSWORD="")
    status, generated, _ = server.upstage("admin-password")
    assert status == 0
    Editor(server, "admin", generated.strip())
    server.end()
    server = start(UPSTAGE_ADMIN_PASSWORD="another one")
    Editor(server, "admin", "another one")
    server.end()
    Editor(start(UPSTAGE_ADMIN_PASSWORD=""), "admin", generated.strip())


def test_commands_change_players_while_the_server_runs(start: Start) -> None:
    server = start()
    arguments = ("player", "add", "Ann", "--rights", "act,admin")
    assert server.upstage(*arguments, stdin="12345678\n") == (0, "", "")
    assert server.upstage("player", "list") == (0, "Ann\tact,admin\n", "")
    wait_for_login(server, "ann", "12345678")
    ann = Editor(server, "Ann", "12345678")
    assert ann.get("/admin/workshop/stages").status == 200
    assert ann.get("/admin/workshop/players").status == 403
    assert server.upstage("player", "passwd", "Ann", stdin="87654321\n") == (0, "", "")
    wait_for_login(server, "Ann", "87654321")
    assert ann.get("/admin/workshop/stages").status == 302  # a new password ends old sessions
    assert server.upstage("player", "remove", "ann") == (0, "", "")
    assert server.upstage("player", "list") == (0, "", "")


def wait_for_login(server: Backend, name: str, password: str) -> None:
    def can() -> bool:
        time.sleep(0.3)  # ten wrong tries would be too many
        try:
            Editor(server, name, password)
        except AssertionError:
            return False
        return True

    server.wait_for(can)


def test_commands_change_stages_while_the_server_runs(start: Start) -> None:
    server = start()
    assert server.upstage("stage", "add", "garden", "--name", "The garden") == (0, "", "")
    server.wait_for(lambda: ask(server, "/stages/garden").status == 200)
    _, stages, _ = server.upstage("stage", "list")
    assert "garden\tThe garden\n" in stages
    client = server.connect()
    client.send_frames(b"stage_ID=garden&mode=JOIN")
    client.frames_until(b"&mode=JOINED")
    assert server.upstage("stage", "remove", "garden") == (0, "", "")
    assert client.receive_frame().startswith(b"msg=This+stage+has+been+closed")
    assert ask(server, "/stages/garden").status == 404


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (("player", "add", "ann", "--rights", "fly"), "12345678\n", "Unknown right: fly"),
        (("player", "add", "a b"), "12345678\n", "A player's name must have"),
        (("player", "add", "ann"), "short\n", "A password must have 8 to 200"),
        (("player", "add", "ann"), "", "A password must have 8 to 200"),
        (("player", "add", "Admin"), "12345678\n", "UPSTAGE_ADMIN_PASSWORD"),
        (("player", "passwd", "bob"), "12345678\n", "There is no player bob"),
        (("player", "remove", "bob"), "", "There is no player bob"),
        (("stage", "add", "demo"), "", "There is already a stage demo"),
        (("stage", "add", "a/b"), "", "A stage's address must have"),
        (("stage", "remove", "x"), "", "There is no stage x"),
    ],
)
def test_a_command_names_its_error(
    seeded: Backend, arguments: tuple[str, ...], stdin: str, message: str
) -> None:
    status, out, error = seeded.upstage(*arguments, stdin=stdin)
    assert (status, out) == (1, "")
    assert error.startswith("upstage: ")
    assert message in error


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Backend:
    server = Backend(tmp_path_factory.mktemp("seeded"))
    assert server.stop() == 0
    return server


def test_a_command_before_the_first_start_creates_nothing(tmp_path: Path, seeded: Backend) -> None:
    status, _, error = seeded.upstage("player", "list", UPSTAGE_DATA=str(tmp_path))
    assert status == 1
    assert "it is created when the server starts" in error
    assert list(tmp_path.iterdir()) == []


class Disk:
    """A database whose disk works when the test says so, or slowly."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.written: list[tuple[str, Change]] = []
        self.said: list[str] = []
        self.waits: list[float] = []
        self.waiting: deque[tuple[Deferred[None], Callable[[], None]]] = deque()
        self.problem: Exception | None = None
        self.clock = Clock()
        self.store = Store(self, self.clock)  # type: ignore[arg-type]
        monkeypatch.setattr(self.store, "run", self.run)
        monkeypatch.setattr(self.store, "_thread", self)

    def run(self, work: Callable[..., None], *arguments: object) -> Deferred[None]:
        self.waiting.append((Deferred(), partial(work, *arguments)))
        return self.waiting[-1][0]

    def keep(self, changes: Iterable[tuple[str, Change]], wait: float) -> None:
        self.waits.append(wait)
        if self.problem:
            raise self.problem
        self.written += changes

    def close(self) -> None:
        """The database's end."""

    def stop(self) -> None:
        """The thread's end."""

    def hear(self, line: str) -> None:
        self.store.keep("demo", [Line(line)], partial(self.said.append, line))

    def turn(self) -> None:
        """Do one piece of work."""
        deferred, work = self.waiting.popleft()
        try:
            work()
        except Exception:
            deferred.errback()
        else:
            deferred.callback(None)


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
def test_lines_that_could_not_be_written_are_sent_at_once_and_written_later(
    disk: Disk, problem: Exception
) -> None:
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
    disk.hear("four")  # while they are being written
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
    for number in range(MAX_QUEUE + 10):
        disk.hear(str(number))
    assert disk.store.queued == MAX_QUEUE
    assert disk.said == [str(number) for number in range(MAX_QUEUE, MAX_QUEUE + 10)]
    assert disk.store.outcomes["lost"] == 10
    disk.problem = Locked("another program has it")
    disk.turn()
    assert disk.store.queued == MAX_QUEUE
    disk.hear("one more")  # the oldest goes
    assert (disk.store.queued, disk.store.outcomes["lost"]) == (MAX_QUEUE, 11)


def test_chat_goes_on_while_another_program_has_the_database(start: Start) -> None:
    server = start()
    client = server.connect()
    join(client)
    other = sqlite3.connect(server.data / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    for number in range(10):
        client.send_frames(f"msg=line%20{number}&mode=TEXT".encode())
        client.frames_until(f"text=line+{number}&mode=ANONTEXT".encode())
    assert time.monotonic() - began < 1
    other.execute("ROLLBACK")
    server.wait_for(lambda: other.execute("SELECT count(*) FROM chat").fetchone() == (10,))
    server.kill()  # no client has said anything since
    log = ask(start(), "/stages/demo/log").body
    assert [log.count(f"<li> line {number}</li>".encode()) for number in range(10)] == [1] * 10
