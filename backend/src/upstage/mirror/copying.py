"""Copies the other server's folders into this one's: the database, the media and four small files.

    upstage.db       through SQLite's backup: a transaction here, and a reader there (state.copies)
    media            new and changed files, each under a temporary name until it is complete; they keep their
                     dates, so the caches' copies stay valid
    admin-password   the generated password
    lessons.json     the results of the lessons
    next-number      the numbers of spoken lines: a cache would serve a number's old line
    term             how many takeovers there have been, and where the last one was: which data are newer

A file is removed here only if the copied database does not know it either, so that an empty media folder
there empties nothing here. Recordings of spoken lines are not copied: they live for 90 seconds.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from upstage.mirror.control import Report
from upstage.settings import ROLES, Pair
from upstage.state import copies, progress
from upstage.state.admin_password import PASSWORD_FILE
from upstage.state.copies import CopyError, copy_database, files, give_up_after
from upstage.state.database import FILE
from upstage.state.files import write_private

SMALL_FILES = (PASSWORD_FILE, progress.FILE, "speech/next-number")
TERM_FILE = "term"

Stamp = tuple[tuple[int, int, int], ...]


class Term(NamedTuple):
    """The number of takeovers before the data were written, and the role that took over last."""

    number: int
    role: str


def read_term(data: Path) -> Term:
    """Return the term of a data folder; number 0: no server has taken over there."""
    try:
        number, role = (data / TERM_FILE).read_text().split()
        return Term(int(number), role)
    except (OSError, ValueError):
        return Term(0, "")


def write_term(data: Path, term: Term) -> None:
    write_private(data / TERM_FILE, f"{term.number} {term.role}\n")


def new_term(data: Path, pair: Pair) -> None:
    """From now on the data of this server are the newer ones."""
    highest = max(read_term(data).number, read_term(pair.peer_data).number)
    write_term(data, Term(highest + 1, pair.role))


def run_alone(data: Path) -> None:
    """Count a start without the other server as a takeover too: from now on these data are the newer ones."""
    if number := read_term(data).number:
        write_term(data, Term(number + 1, ROLES[0]))


class Replica:
    """The copy of the other server's folders in `data` and `media`."""

    def __init__(self, pair: Pair, data: Path, media: Path) -> None:
        self._pair = pair
        self._data = data
        self._media = media
        self._copied: Stamp = ()  # the version of the other database in the last copy
        self.report = Report()  # of the current pass
        media.mkdir(parents=True, exist_ok=True)
        for path in [data / ".copy.db", *media.rglob(".copy-*")]:  # of a killed process
            path.unlink(missing_ok=True)

    @property
    def term(self) -> Term:
        return read_term(self._data)

    def is_behind(self) -> bool:
        """Return whether the other server has newer data, or the original of this server's copy."""
        here, there = self.term, read_term(self._pair.peer_data)
        return there.number > here.number or (there == here and there.role == self._pair.peer)

    def new_term(self) -> None:
        """From now on the data of this server are the newer ones."""
        new_term(self._data, self._pair)

    def copy(self) -> Iterator[None]:
        """Copy what has changed, one file for each step; raise CopyError.

        The database comes first: a medium that it names is there already.
        """
        self.report = Report()
        try:
            term = read_term(self._pair.peer_data)
            self._copy_database()
            yield
            for name in SMALL_FILES:
                self._copy_small(name)
            yield from self._copy_media()
            if self.term != term:
                write_term(self._data, term)
        except (OSError, UnicodeDecodeError, sqlite3.Error) as error:
            raise CopyError(f"{self._pair.peer}'s data cannot be copied: {error}") from error

    def forget(self) -> None:
        """Copy the database next time, even if it has not changed."""
        self._copied = ()

    def _copy_database(self) -> None:
        file = self._pair.peer_data / FILE
        now = stamp(file)
        if now == self._copied:
            return
        staging = self._data / ".copy.db"
        try:
            copy_database(file, staging)
            with closing(sqlite3.connect(staging)) as copy:
                self._install(copy)
            self.report.database = staging.stat().st_size
        finally:
            staging.unlink(missing_ok=True)
        self._copied = now

    def _install(self, copy: sqlite3.Connection) -> None:
        """Replace this server's database in one transaction; a damaged one is removed first."""
        file = self._data / FILE
        file.touch(mode=0o600)
        try:
            with closing(sqlite3.connect(file)) as target:
                copy.backup(target, progress=give_up_after(copies.DATABASE_TIME))
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise
            for path in self._data.glob(f"{FILE}*"):
                path.unlink()
            file.touch(mode=0o600)
            with closing(sqlite3.connect(file)) as target:
                copy.backup(target)

    def _copy_small(self, name: str) -> None:
        with suppress(FileNotFoundError):
            text = (self._pair.peer_data / name).read_text("utf-8")
            here = self._data / name
            if not here.exists() or here.read_bytes() != text.encode():  # bytes: it may be damaged
                here.parent.mkdir(exist_ok=True)
                write_private(here, text)

    def _copy_media(self) -> Iterator[None]:
        there, here = files(self._pair.peer_media), files(self._media)
        for name, (size, date) in there.items():
            if here.get(name) != (size, date):
                self._copy_file(name, date)
                self.report.files += 1
                self.report.bytes += size
                yield
        gone = here.keys() - there.keys()
        for name in gone - self._known() if gone else ():
            (self._media / name).unlink(missing_ok=True)
            self.report.removed += 1
        self.report.total = len(there)

    def _copy_file(self, name: str, date: int) -> None:
        target = self._media / name
        temporary = target.with_name(f".copy-{target.name}")
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copyfile(self._pair.peer_media / name, temporary)
            os.utime(temporary, ns=(date, date))
            temporary.chmod(0o644)  # nginx reads the media folder too, as another user
            temporary.replace(target)
        except FileNotFoundError:
            pass  # the other server has just removed it: the next pass removes it here
        finally:
            temporary.unlink(missing_ok=True)

    def _known(self) -> set[str]:
        """The media that this server's database names."""
        with closing(sqlite3.connect(self._data / FILE)) as sql:
            return {file for [file] in sql.execute("SELECT file FROM media")}


def stamp(database: Path) -> Stamp:
    """Return what changes with each write to a database: its file's and its WAL's identity, date and size."""
    found = []
    for path in (database, database.with_name(f"{database.name}-wal")):
        with suppress(FileNotFoundError):
            info = path.stat()
            found.append((info.st_ino, info.st_mtime_ns, info.st_size))
    return tuple(found)
