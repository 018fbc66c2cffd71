"""The account of the load test, and the file with its password."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from upstage.state.database import Database
from upstage.state.load_account import keep_load_account
from upstage.state.passwords import choose, matches


def works(database: Database, file: Path) -> bool:
    """Return whether the file contains the account's password."""
    name, password = file.read_text().removesuffix("\n").split(":")
    return name == "load" and matches(database.snapshot().accounts["load"].password, password)


def test_the_account_is_made_once_and_its_password_is_private(tmp_path: Path, database: Database) -> None:
    file = tmp_path / "player" / "account"
    keep_load_account(database, file)
    assert works(database, file)
    assert database.snapshot().accounts["load"].rights == {"act"}
    assert file.stat().st_mode & 0o777 == 0o600
    before = file.read_text()
    for _ in range(2):
        keep_load_account(database, file)
        assert file.read_text() == before
        assert works(database, file)
        database.remove_player("load")  # the account returns with the password of the file


@pytest.mark.parametrize("content", ["", "load:short\n", "other:long enough\n", "\0" * 100])
def test_an_unusable_file_is_replaced(tmp_path: Path, database: Database, content: str) -> None:
    file = tmp_path / "account"
    file.write_text(content)
    keep_load_account(database, file)
    assert works(database, file)


def test_servers_that_start_together_share_the_account(tmp_path: Path) -> None:
    """All theatres use one password, because Locust knows only one."""
    file = tmp_path / "account"
    databases = []
    for n in range(4):
        (tmp_path / f"{n}").mkdir()
        databases.append(Database(tmp_path / f"{n}"))
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda database: keep_load_account(database, file), databases))
    assert all(works(database, file) for database in databases)


@pytest.mark.parametrize("content", [b"load:%s\n", b"", b"\xff\xfe\0", b"other:%s"])
def test_a_password_that_was_changed_stays(tmp_path: Path, database: Database, content: bytes) -> None:
    """A player keeps an account named `load`; the file is removed, so that no user tries a wrong password."""
    file = tmp_path / "account"
    keep_load_account(database, file)
    file.write_bytes(content.replace(b"%s", file.read_bytes()[5:].strip()))
    hash = choose("a password of mine")
    database.set_password("load", hash)
    for _ in range(2):
        keep_load_account(database, file)
        assert not file.exists()
        assert database.snapshot().accounts["load"].password == hash


def test_a_file_that_cannot_be_written_is_survived(tmp_path: Path, database: Database) -> None:
    (tmp_path / "folder").touch()
    keep_load_account(database, tmp_path / "folder" / "account")
    assert database.snapshot().accounts == {}
    keep_load_account(database, tmp_path)  # a folder in place of the file
    assert database.snapshot().accounts == {}
