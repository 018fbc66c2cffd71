"""The database: players, stages, media and chat in one SQLite file. All methods block.

The server uses it in a separate thread (`store`), the command `upstage` directly; both may do so at the same
time: with WAL, readers do not wait for a writer, and one writer waits for another
(https://www.sqlite.org/wal.html).
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, replace
from pathlib import Path

from upstage.stage.kept import Change, Kept
from upstage.stage.stage import Colours
from upstage.state import scene
from upstage.state.records import (
    Account,
    Locked,
    Medium,
    NoRoom,
    RecordError,
    Session,
    Snapshot,
    StageRecord,
    Thing,
)
from upstage.state.schema import MIGRATIONS, statements

FILE = "upstage.db"
LOCK_TIME = 5.0  # seconds to wait for another writer
# SQLite's error codes for a full disk.
FULL = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE}


class Database:
    """One connection. When a method that writes returns, it has written; if it raises, nothing changed."""

    def __init__(self, folder: Path) -> None:
        """Open the file in `folder`, created and migrated as needed; raise sqlite3.Error, RecordError."""
        (folder / FILE).touch(mode=0o600)  # SQLite gives its other files the mode of this one
        # Only one thread at a time uses the connection, but another one than the store's opens it.
        self._sql = sqlite3.connect(
            folder / FILE, timeout=LOCK_TIME, isolation_level=None, check_same_thread=False
        )
        self._sql.execute("PRAGMA journal_mode = WAL")
        self._sql.execute("PRAGMA synchronous = FULL")  # a committed write survives a power cut
        self._sql.execute("PRAGMA foreign_keys = ON")
        self._migrate()
        self._last_version = self._version()

    def close(self) -> None:
        self._sql.close()

    def _migrate(self) -> None:
        [done] = self._sql.execute("PRAGMA user_version").fetchone()
        if done == len(MIGRATIONS):
            return
        with self._writing() as sql:  # read the version again: another process may just have migrated
            [done] = sql.execute("PRAGMA user_version").fetchone()
            if done > len(MIGRATIONS):
                raise RecordError(f"{FILE} was written by a newer release than this one")
            for script in MIGRATIONS[done:]:
                for statement in statements(script):
                    sql.execute(statement)
            sql.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")

    @contextmanager
    def _writing(self, wait: float = LOCK_TIME) -> Iterator[sqlite3.Connection]:
        """Run a transaction. IMMEDIATE takes the write lock at the beginning. Raise NotWritten.

        `wait`: the longest time to wait for another program's lock, in seconds.
        """
        try:
            self._sql.execute(f"PRAGMA busy_timeout = {wait * 1000:.0f}")
            self._sql.execute("BEGIN IMMEDIATE")
            yield self._sql
            self._sql.execute("COMMIT")
        except BaseException as error:
            if self._sql.in_transaction:  # SQLite may have rolled back already
                self._sql.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                if error.sqlite_errorcode in FULL:
                    raise NoRoom("the disk is full") from error
                if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:  # the other bits give the reason
                    raise Locked(f"another program has kept {FILE} locked for {wait:g} s") from error
            raise
        finally:  # a read hardly ever waits; if it does, it may wait for LOCK_TIME
            self._sql.execute(f"PRAGMA busy_timeout = {LOCK_TIME * 1000:.0f}")

    def _version(self) -> int:
        [version] = self._sql.execute("PRAGMA data_version").fetchone()
        return int(version)

    def changed_by_others(self) -> bool:
        """Return whether another process has written since the last call."""
        before, self._last_version = self._last_version, self._version()
        return before != self._last_version

    # Reading.

    def snapshot(self) -> Snapshot:
        """Return everything but the stages' kept state, from one transaction."""
        self._sql.execute("BEGIN")
        try:
            accounts = [
                _account(name, password, rights)
                for name, password, rights in self._sql.execute(
                    "SELECT name, password, rights FROM player ORDER BY name"
                )
            ]
            media = [
                Medium(*row)
                for row in self._sql.execute(
                    "SELECT file, kind, name, uploader, date, size FROM media ORDER BY name"
                )
            ]
            things: dict[str, list[Thing]] = {}
            for stage, *row in self._sql.execute(
                "SELECT stage, kind, id, name, file, voice, x, y, type FROM thing ORDER BY kind, id"
            ):
                things.setdefault(stage, []).append(Thing(*row))
            stages = [
                StageRecord(id, name, splash, Colours(*look), tuple(things.get(id, ())), bool(listed), resets)
                for id, name, splash, *look, listed, resets in self._sql.execute(
                    "SELECT id, name, splash, page, tools, backdrop_and_prop, chat, listed, resets "
                    "FROM stage ORDER BY id"
                )
            ]
        finally:
            self._sql.execute("COMMIT")
        return Snapshot(
            {account.name: account for account in accounts},
            {medium.file: medium for medium in media},
            {stage.id: stage for stage in stages},
        )

    def kept(self, stage: str) -> Kept:
        """Return a stage's chat and drawing, and the state of its things."""
        return scene.read(self._sql, stage)

    def sessions(self) -> list[Session]:
        """Return all sessions, the oldest first."""
        rows = self._sql.execute(
            "SELECT digest, player, password, rights, expires FROM session ORDER BY expires"
        )
        return [Session(digest, _account(*account), expires) for digest, *account, expires in rows]

    # Writing. The message of a RecordError is for the person who asked for the change.

    def add_player(self, account: Account) -> None:
        with self._writing() as sql:
            try:
                sql.execute("INSERT INTO player VALUES (?, ?, ?)", _columns(account))
            except sqlite3.IntegrityError:
                raise RecordError(f"There is already a player {account.name}.") from None

    def set_password(self, name: str, password: str) -> None:
        self._change("UPDATE player SET password = ? WHERE name = ?", (password, name), f"player {name}")

    def set_rights(self, name: str, rights: Iterable[str]) -> None:
        Account(name, "", frozenset(rights))  # checks the values
        text = ",".join(sorted(rights))
        self._change("UPDATE player SET rights = ? WHERE name = ?", (text, name), f"player {name}")

    def remove_player(self, name: str) -> None:
        self._change("DELETE FROM player WHERE name = ?", (name,), f"player {name}")

    def add_stage(self, stage: StageRecord) -> None:
        with self._writing() as sql:
            _insert_stage(sql, stage)

    def save_stage(self, stage: StageRecord) -> None:
        """Replace a stage's name, welcome, colours and listing; its things stay as they are."""
        self._change(
            "UPDATE stage SET name = ?, splash = ?, page = ?, tools = ?, backdrop_and_prop = ?, chat = ?, "
            "listed = ? WHERE id = ?",
            (stage.name, stage.splash, *astuple(stage.colours), stage.listed, stage.id),
            f"stage {stage.id}",
        )

    def reset_stage(self, id: str) -> None:
        """Remove a stage's kept state, and make every server reset the stage to its record."""
        with self._writing() as sql:
            if sql.execute("UPDATE stage SET resets = resets + 1 WHERE id = ?", (id,)).rowcount == 0:
                raise RecordError(f"There is no stage {id}.")
            scene.clear(sql, id)

    def remove_stage(self, id: str) -> None:
        """Remove a stage with its things and its chat. Media stay."""
        self._change("DELETE FROM stage WHERE id = ?", (id,), f"stage {id}")

    def put_thing(self, stage: str, thing: Thing) -> None:
        """Put a medium on a stage (ID 0: the next free ID), or change a thing on it."""
        with self._writing() as sql:
            _insert_thing(sql, stage, thing)
            sql.execute(  # an avatar that was renamed on the stage takes the new name
                "UPDATE standing SET state = json_remove(state, '$.name') "
                "WHERE stage = ? AND kind = ? AND id = ?",
                (stage, thing.kind, thing.id),
            )

    def take_thing(self, stage: str, kind: str, id: int) -> None:
        self._change(
            "DELETE FROM thing WHERE stage = ? AND kind = ? AND id = ?", (stage, kind, id), f"{kind} {id}"
        )

    def put_medium(self, medium: Medium, on: Iterable[tuple[str, Thing]] = ()) -> None:
        """Add a medium, or update its date and size; `on`: IDs of stages, each with its thing there."""
        with self._writing() as sql:
            _insert_medium(sql, medium)
            for stage, thing in on:
                _insert_thing(sql, stage, thing)

    def remove_medium(self, file: str) -> None:
        """Remove a medium, also from all stages."""
        self._change("DELETE FROM media WHERE file = ?", (file,), f"file {file}")

    def keep(self, changes: Iterable[tuple[str, Change]], wait: float = LOCK_TIME) -> None:
        """Write changes of stages, each with its stage's ID.

        `wait`: the longest time to wait for another program's lock, in seconds.
        """
        with self._writing(wait) as sql:
            scene.write(sql, changes)

    def change_sessions(
        self, added: Iterable[Session], ended: Iterable[str], wait: float = LOCK_TIME
    ) -> None:
        """Add sessions, and remove those whose digests are in `ended`; `wait` as for `keep`."""
        with self._writing(wait) as sql:
            for session in added:
                columns = session.digest, *_columns(session.account), session.expires
                sql.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?)", columns)
            sql.executemany("DELETE FROM session WHERE digest = ?", [(digest,) for digest in ended])

    def was_seeded(self, stage: str) -> bool:
        return self._sql.execute("SELECT 1 FROM seeded WHERE stage = ?", (stage,)).fetchone() is not None

    def seed(self, stage: StageRecord, media: Iterable[Medium]) -> None:
        """Add a stage of a release, unless there is a stage with this ID.

        A stage is seeded once: if it is edited or removed later, it is never restored.
        """
        with self._writing() as sql:
            sql.execute("INSERT INTO seeded VALUES (?)", (stage.id,))
            if not sql.execute("SELECT 1 FROM stage WHERE id = ?", (stage.id,)).fetchone():
                for medium in media:
                    _insert_medium(sql, medium)
                _insert_stage(sql, stage)

    def _change(self, statement: str, values: tuple[object, ...], what: str) -> None:
        with self._writing() as sql:
            if sql.execute(statement, values).rowcount == 0:
                raise RecordError(f"There is no {what}.")


def _account(name: str, password: str, rights: str) -> Account:
    return Account(name, password, frozenset(filter(None, rights.split(","))))


def _columns(account: Account) -> tuple[str, str, str]:
    return account.name, account.password, ",".join(sorted(account.rights))


def _insert_stage(sql: sqlite3.Connection, stage: StageRecord) -> None:
    try:
        sql.execute(
            "INSERT INTO stage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (stage.id, stage.name, stage.splash, *astuple(stage.colours), stage.listed, stage.resets),
        )
    except sqlite3.IntegrityError:
        raise RecordError(f"There is already a stage {stage.id}.") from None
    for thing in stage.things:
        _insert_thing(sql, stage.id, thing)


def _insert_thing(sql: sqlite3.Connection, stage: str, thing: Thing) -> None:
    if not thing.id:
        [highest] = sql.execute(
            "SELECT max(id) FROM thing WHERE stage = ? AND kind = ?", (stage, thing.kind)
        ).fetchone()
        thing = replace(thing, id=(highest or 0) + 1)
    try:
        sql.execute(
            "INSERT OR REPLACE INTO thing VALUES (:stage, :kind, :id, :name, :file, :voice, :x, :y, :type)",
            {"stage": stage, **vars(thing)},
        )
    except sqlite3.IntegrityError:  # a foreign key refers to nothing
        raise RecordError(f"The stage {stage} or the file {thing.file} has been removed.") from None


def _insert_medium(sql: sqlite3.Connection, medium: Medium) -> None:
    # Not OR REPLACE, which deletes the old row first, and its things with it.
    sql.execute(
        "INSERT INTO media VALUES (:file, :kind, :name, :uploader, :date, :size) "
        "ON CONFLICT (file) DO UPDATE SET name = :name, uploader = :uploader, date = :date, size = :size",
        vars(medium),
    )
