"""A damaged or vanished database: reported, kept, and never replaced silently."""

from contextlib import closing
from pathlib import Path

import pytest

from forked import run_upstage
from running_backend import Backend
from upstage.state.damage import find_damage, set_aside
from upstage.state.database import FILE, Database

VANISHED = "there was no database, though there are media: accounts, stages and chat start over"


def overwrite(file: Path, start: int) -> None:
    with file.open("r+b") as database:
        database.seek(start)
        database.write(b"\xa5" * 3000)


@pytest.mark.parametrize("start", [0, 4096])
def test_damage_is_found_and_the_file_kept(tmp_path: Path, start: int) -> None:
    assert find_damage(tmp_path) == ""
    with closing(Database(tmp_path)):
        pass
    assert find_damage(tmp_path) == ""
    overwrite(tmp_path / FILE, start)
    before = (tmp_path / FILE).read_bytes()
    assert find_damage(tmp_path)
    kept = set_aside(tmp_path)
    assert kept.read_bytes() == before
    assert find_damage(tmp_path) == ""
    assert not (tmp_path / FILE).exists()


def test_a_server_starts_on_no_damaged_database_and_says_what_to_type(tmp_path: Path) -> None:
    backend = Backend(tmp_path)
    backend.end()
    assert not backend.logged(VANISHED)
    status, _, errors = run_upstage("set-aside", env=backend.env)
    assert (status, errors) == (1, f"upstage: there is no damaged database in {backend.data}\n")
    overwrite(backend.data / FILE, 4096)
    status, _, errors = run_upstage("serve", env=backend.env)
    assert status == 1
    assert f"{backend.data / FILE} is damaged" in errors
    assert errors.count("\n") == 1
    assert "backend upstage set-aside" in errors
    status, output, _ = run_upstage("set-aside", env=backend.env)
    [kept] = backend.data.glob("damaged-*.db")
    assert (status, output) == (0, f"kept as {kept}; the server's next start makes a new database\n")
    backend = Backend(tmp_path)
    assert backend.logged(VANISHED)
    backend.end()
