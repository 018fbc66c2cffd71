"""Fixtures, built from `running_backend` and `demo_stage`."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import settings
from twisted.internet.task import Clock

from backend.tests.backup_folders import Folders
from backend.tests.demo_stage import with_demo
from backend.tests.running_backend import PASSWORD, Backend, Editor, PurgedCache
from upstage.net.connection import Connections
from upstage.stage.stage import Stage
from upstage.stage.stages import Stages
from upstage.state.database import Database
from upstage.state.records import new_stage

settings.register_profile("here", database=None)  # leave no folder behind
settings.load_profile("here")


@pytest.fixture
def stages() -> Stages:
    """Return the demo stage and another one."""
    stages = with_demo(Stages())
    stages.add(Stage(stages, "other", "Other", "Hi", stages.by_id["demo"].colours))
    return stages


@pytest.fixture
def stage(stages: Stages) -> Stage:
    return stages.by_id["demo"]


@pytest.fixture
def connections(stages: Stages) -> Connections:
    return Connections(stages, Clock(), max_unread=1000)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    server = Backend(tmp_path_factory.mktemp("server"), UPSTAGE_ADMIN_PASSWORD=PASSWORD)
    yield server
    server.end()


@pytest.fixture(scope="session")
def school(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    """Yield a server with the lessons."""
    lessons = Path(__file__).parents[2] / "lessons"
    server = Backend(tmp_path_factory.mktemp("school"), UPSTAGE_LESSONS=str(lessons))
    yield server
    server.end()


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path)


@pytest.fixture(scope="session")
def cache() -> Iterator[PurgedCache]:
    cache = PurgedCache()
    yield cache
    cache.close()


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory, cache: PurgedCache) -> Iterator[Backend]:
    server = Backend(
        tmp_path_factory.mktemp("workshop"),
        UPSTAGE_ADMIN_PASSWORD=PASSWORD,
        UPSTAGE_PURGE=cache.address,
        UPSTAGE_SIGNUP="open",
    )
    yield server
    server.end()
    assert not list(server.media.glob(".upload-*"))


@pytest.fixture(scope="session")
def admin(workshop: Backend) -> Editor:
    return Editor(workshop)


@pytest.fixture(scope="session")
def editor(workshop: Backend, admin: Editor) -> Editor:
    done = admin.post(
        "/admin/workshop/players", action="add", name="mia", password="12345678", act="yes", admin="yes"
    )
    assert done.status == 302
    return Editor(workshop, "mia", "12345678")


def made(folder: Path, line: str, password: str, **media: bytes) -> Folders:
    """Return a server's data: a stage with a chat line, and `media` by name, without the ending."""
    folders = Folders(folder)
    with closing(Database(folders.data)) as database:
        database.add_stage(new_stage("demo", "Demo"))
    folders.say(line)
    for name, content in media.items():
        folders.put(f"{name}.svg", content)
    (folders.data / "admin-password").write_text(f"{password}\n")
    return folders


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    """Return data with a chat line, two media, and all other files that a backup contains."""
    folders = made(tmp_path / "first", "hello", "secret", hat=b"hat")
    folders.put("audio/bell.mp3", b"bell")
    (folders.data / "lessons.json").write_text("{}")
    return folders


@pytest.fixture
def other(tmp_path: Path) -> Folders:
    """Return the data of another machine."""
    return made(tmp_path / "second", "other", "other", cup=b"cup")
