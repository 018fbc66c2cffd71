"""The folders of servers that do not run, from which backups are made, or into which they are restored."""

import io
import os
from contextlib import closing
from pathlib import Path

from backend.tests.forked import Forked
from upstage.backup import restore, write
from upstage.stage.kept import Line
from upstage.state.database import Database
from upstage.state.records import Medium


class Folders:
    """The folders of a server that does not run."""

    def __init__(self, folder: Path) -> None:
        self.data, self.media = folder / "data", folder / "media"
        for path in (self.data, self.media):
            path.mkdir(parents=True)

    def put(self, file: str, content: bytes) -> None:
        """Add a medium, as a server does: the file first."""
        path = self.media / file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        with closing(Database(self.data)) as database:
            database.put_medium(Medium(file, "prop", "Hat", "ann", "2026-01-01", len(content)))

    def backup(self, account: Path | None = None) -> bytes:
        out = io.BytesIO()
        write.write_backup(self.data, self.media, account, out)
        return out.getvalue()

    def restore(self, backup: bytes) -> list[Path]:
        before = restore.replaced(self.data, self.media)
        restore.restore(self.data, self.media, io.BytesIO(backup))
        return [path for path in restore.replaced(self.data, self.media) if path not in before]

    def say(self, line: str) -> None:
        with closing(Database(self.data)) as database:
            database.keep([("demo", Line(line))])

    def chat(self) -> list[str]:
        with closing(Database(self.data)) as database:
            return list(database.kept("demo").chat)

    def run(self, command: list[str], archive: bytes = b"", **env: str) -> tuple[int, bytes, str]:
        """Run `python COMMAND` with an archive as its input; return its status, output and errors."""
        given, out, errors = (self.data.with_name(name) for name in ("stdin", "stdout", "stderr"))
        given.write_bytes(archive)
        env = os.environ | {"UPSTAGE_DATA": str(self.data), "UPSTAGE_MEDIA": str(self.media)} | env
        status = Forked(command, env, out, errors, given).wait(30)
        return status, out.read_bytes(), errors.read_text()

    def upstage(self, *words: str, archive: bytes = b"", **env: str) -> tuple[int, bytes, str]:
        return self.run(["-m", "upstage", *words], archive, **env)


def content_of(folder: Path) -> dict[str, bytes]:
    """Return the content of every file below a folder, except the locks, which are empty."""
    return {
        str(path.relative_to(folder)): os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if (path.is_symlink() or path.is_file()) and path.name not in (".serving", ".backup.lock")
    }
