"""Two servers over the same folders: neither disturbs the other, and each follows the other's changes."""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock

from running_backend import DRAWING, PASSWORD, Backend, Editor, PurgedCache, ask, join
from upstage.media import speech
from upstage.media.speech import Numbers
from upstage.net.purge import tag_of
from upstage.stage.stages import Stages
from upstage.state.accounts import Accounts
from upstage.state.database import Database
from upstage.state.live import POLL, LiveState
from upstage.state.records import new_stage
from upstage.state.standby import Presence, locked


def start(folder: Path, name: str, **env: str) -> Backend:
    """Start a server with a log of its own, and its data and media in `folder`."""
    (folder / name).mkdir(exist_ok=True)
    folders = {"UPSTAGE_DATA": str(folder / "data"), "UPSTAGE_MEDIA": str(folder / "media")}
    return Backend(folder / name, **folders, **env)


@pytest.fixture(scope="module")
def cache() -> Iterator[PurgedCache]:
    cache = PurgedCache()
    yield cache
    cache.close()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, cache: PurgedCache) -> Iterator[tuple[Backend, Backend]]:
    """Two servers that start on empty folders at the same time, with a generated password."""
    folder = tmp_path_factory.mktemp("pair")
    with ThreadPoolExecutor() as pool:
        starts = [pool.submit(start, folder, name, UPSTAGE_PURGE=cache.address) for name in ("one", "two")]
    one, two = (start.result() for start in starts)
    yield one, two
    for server in (one, two):
        server.end()
        assert not server.logged("a purge was lost: the cache may serve an old file")


def password_of(server: Backend) -> str:
    return (Path(server.env["UPSTAGE_DATA"]) / "admin-password").read_text().strip()


def test_two_servers_start_on_empty_folders_at_the_same_time(pair: tuple[Backend, Backend]) -> None:
    for server in pair:
        assert b"Demo" in Editor(server, password=password_of(server)).get("/stages/").body
        assert ask(server, "/media/fox.svg").status == 200


def test_changes_in_one_server_reach_the_other(pair: tuple[Backend, Backend], cache: PurgedCache) -> None:
    one, two = pair
    editor = Editor(one, password=password_of(one))
    cup = editor.bring("Cup")
    assert editor.post("/admin/workshop/stages", action="make", id="new", name="A new stage").status == 302
    assert editor.post("/admin/workshop/stages/new", action="put", file=cup).status == 302
    two.wait_for(lambda: cup.encode() in ask(two, "/stages/new").body)
    client = two.connect()
    client.send_frames(b"stage_ID=new&mode=JOIN")
    client.frames_until(b"&mode=JOINED")
    cache.forget_requests()
    other = Editor(two, password=password_of(two))
    assert editor.upload(f"/admin/workshop/media/{cup}", DRAWING % b"1").status == 302
    assert client.receive_frame() == b"mode=RELOAD"
    assert ask(two, f"/media/{cup}").body == DRAWING % b"1"
    one.wait_for(lambda: len(cache.tags) == 2)
    assert other.upload(f"/admin/workshop/media/{cup}", DRAWING % b"2").status == 302
    assert ask(one, f"/media/{cup}").body == DRAWING % b"2"
    assert ask(one, f"/media/{cup}").headers["etag"] == ask(two, f"/media/{cup}").headers["etag"]
    two.wait_for(lambda: len(cache.tags) == 4)
    assert set(cache.tags) == {tag_of(cup)}
    client.close()


def log_of(server: Backend) -> list[str]:
    page = ask(server, "/stages/rehearsal/log").body.decode()
    return [f"line {n}" for n in range(40) for _ in range(page.count(f"line {n}<"))]


def test_chat_in_one_server_is_in_both_logs(pair: tuple[Backend, Backend]) -> None:
    clients = [server.connect() for server in pair]
    for client in clients:
        client.send_frames(b"stage_ID=rehearsal&mode=JOIN")
        client.frames_until(b"&mode=JOINED")
    for number in range(40):  # in turn, while both servers check for changes
        clients[number % 2].send_frames(b"msg=line %d&mode=TEXT" % number)
        clients[number % 2].frames_until(b"&mode=ANONTEXT")
        time.sleep(0.05)
    began = time.monotonic()
    everything = [f"line {n}" for n in range(40)]
    for server in pair:
        server.wait_for(lambda server=server: log_of(server) == everything)  # type: ignore[misc]
    assert time.monotonic() - began < 2
    time.sleep(1.2)  # one more check: no line twice
    for server in pair:
        assert log_of(server) == everything
        late = server.connect()
        late.send_frames(b"stage_ID=rehearsal&mode=JOIN")
        [replay] = [
            frame for frame in late.frames_until(b"&mode=JOINED") if frame.endswith(b"&mode=LOAD_CHAT")
        ]
        assert replay.count(b"line+") == 40
        late.close()
    for client in clients:
        client.close()


def test_a_start_beside_another_server_removes_only_old_files(tmp_path: Path) -> None:
    env = {"UPSTAGE_ADMIN_PASSWORD": PASSWORD}
    one = start(tmp_path, "one", **env)
    places = [tmp_path / "media" / ".upload-abc", tmp_path / "data" / "speech" / "utter-7.mp3"]
    left = [path.with_name(path.name.replace("7", "8").replace("abc", "xyz")) for path in places]
    for path in places + left:
        path.write_bytes(b"half of it")
    for path in left:
        os.utime(path, (0, time.time() - 3600))
    two = start(tmp_path, "two", **env)
    assert [path.exists() for path in places + left] == [True, True, False, False]
    assert ask(two, "/speech/utter-7.mp3").body == b"half of it"  # both servers serve the files of either
    assert two.stop() == 0
    one.kill()
    three = start(tmp_path, "one", **env)  # alone
    assert [path.exists() for path in places] == [False, False]
    assert three.stop() == 0


def test_the_stand_by_goes_on_when_the_other_is_killed(tmp_path: Path) -> None:
    env = {"UPSTAGE_ADMIN_PASSWORD": PASSWORD}
    one, two = (start(tmp_path, name, **env) for name in ("one", "two"))
    client = one.connect()
    join(client)
    client.send_frames(b"msg=the last words&mode=TEXT")
    client.frames_until(b"&mode=ANONTEXT")
    time.sleep(0.1)
    one.kill()
    two.wait_for(lambda: b"the last words" in ask(two, "/stages/demo/log").body)
    client = two.connect()
    assert any(b"the+last+words" in frame for frame in join(client))
    client.send_frames(b"msg=and the first&mode=TEXT")
    client.frames_until(b"&mode=ANONTEXT")
    one = start(tmp_path, "one", **env)
    page = ask(one, "/stages/demo/log").body
    assert page.index(b"the last words") < page.index(b"and the first")
    assert page.count(b"and the first") == 1
    assert one.stop() == two.stop() == 0


def test_two_servers_never_use_the_same_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speech, "NUMBERS_AT_ONCE", 2)

    def take() -> list[int]:
        numbers = Numbers(tmp_path / "next-number")
        return [numbers.take() for _ in range(300)]

    with ThreadPoolExecutor(4) as pool:
        taken = [future.result() for future in [pool.submit(take) for _ in range(4)]]
    assert len({number for numbers in taken for number in numbers}) == 1200


def test_only_a_server_without_others_is_alone(tmp_path: Path) -> None:
    first, second = Presence(tmp_path), Presence(tmp_path)
    third = Presence(tmp_path)
    assert [one.alone for one in (first, second, third)] == [True, False, False]
    for one in (first, third, second):
        one.stopService()
    assert Presence(tmp_path).alone


def test_own_chat_lines_differ_from_those_of_other_processes(tmp_path: Path) -> None:
    ours, theirs = Database(tmp_path), Database(tmp_path)
    ours.add_stage(new_stage("a", "A"))
    ours.add_stage(new_stage("b", "B"))
    ours.add_chat([("a", "1")])
    theirs.add_chat([("a", "2"), ("b", "3")])
    assert ours.chats(["a"]) == ({"a": ["1", "2"]}, [("b", "3")])
    assert ours.chats([]) == ({}, [])
    assert theirs.chats(["a", "b"]) == ({"a": ["1", "2"], "b": ["3"]}, [])
    ours.add_chat([("a", "4")])
    theirs.add_chat([("a", "5")])
    ours.add_chat([("a", "6")])
    assert ours.chats([]) == ({}, [("a", "5")])
    assert theirs.chats([]) == ({}, [("a", "4"), ("a", "6")])
    ours.remove_stage("b")
    theirs.remove_stage("a")
    ours.add_stage(new_stage("c", "C"))
    assert ours.chats([]) == theirs.chats([]) == ({}, [])
    theirs.add_chat([("c", "7")])  # SQLite reuses the numbers of deleted lines
    assert ours.chats([]) == ({}, [("c", "7")])


class AtOnce:
    """A store without a thread."""

    def start(self) -> None: ...

    def run(self, work: Callable[..., object], *args: object) -> Deferred[object]:
        return succeed(work(*args))


def test_a_line_that_arrives_during_a_check_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = Database(tmp_path), Database(tmp_path)
    ours.add_stage(new_stage("a", "A"))
    clock, stages = Clock(), Stages()
    accounts = Accounts("", lambda hash, password: succeed(False))
    state = LiveState(ours, AtOnce(), AtOnce(), stages, accounts, clock)  # type: ignore[arg-type]
    state.startService()
    monkeypatch.setattr(ours, "changed_by_others", lambda: theirs.add_chat([("a", "now")]))  # and says no
    clock.advance(POLL)
    assert list(stages.by_id["a"].chat) == ["now"]


def test_a_start_waits_for_another_start(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with ThreadPoolExecutor() as pool:
        with locked(tmp_path / "data" / ".starting"):
            starting = pool.submit(start, tmp_path, "one")
            time.sleep(2)
            assert [path.name for path in (tmp_path / "data").iterdir()] == [".starting"]
        assert starting.result().stop() == 0
