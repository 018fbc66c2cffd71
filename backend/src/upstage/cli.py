"""The command `upstage`. Settings come from the environment, see `settings`.

Tasks import their modules themselves: the health check runs every few
seconds and must load neither Twisted nor the database.
"""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from upstage import cli_records
from upstage.net import health
from upstage.settings import Settings, SettingsError, from_environment
from upstage.state.admin_password import read_password

Task = Callable[[Settings, argparse.Namespace], int]  # runs a command; returns its exit status


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status."""
    options = parser().parse_args(arguments)
    try:
        settings = from_environment(os.environ)
    except SettingsError as error:
        return fail(error)
    status: int = options.task(settings, options)
    return status


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="upstage", description="The UpStage stand-in.")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for name, task, text in (
        ("serve", serve, "run the server until SIGTERM"),
        ("healthcheck", healthcheck, "check every listener of a running server; exit 0 or 1"),
        ("admin-password", admin_password, "print the administrator's password"),
        ("metrics", metrics, "print the server's metrics"),
        ("lessons", lessons, "show the results of the lessons, read from standard input, on /lessons/"),
        ("set-aside", set_aside, "keep a damaged database under another name, and let the server start"),
        ("backup", backup, "write a backup of all data to standard output; the server may run"),
        ("restore", restore, "replace all data by a backup, read from standard input; no server may run"),
    ):
        commands.add_parser(name, help=text, description=text).set_defaults(task=task)
    instead = commands.choices["restore"].add_mutually_exclusive_group()
    instead.add_argument("--move", action="store_true", help="the backup is of now: all users stay signed in")
    instead.add_argument("--check", action="store_true", help="only check the backup, and say what is in it")
    instead.add_argument(
        "--remove-replaced", action="store_true", help="only remove what restores have replaced"
    )

    purge = commands.add_parser("purge", help="drop a path, or everything with a tag, from every cache")
    purge.add_argument(
        "path", metavar="PATH", help="on every host; with every query, or with the one that it has"
    )
    purge.add_argument("--tag", help="everything with this tag instead")
    purge.set_defaults(task=lambda settings, options: send_purge(settings, options.path, options.tag))

    cli_records.add_parsers(commands, database_task)
    return top


def serve(settings: Settings, options: argparse.Namespace) -> int:
    from upstage.service import serve as run

    return run(settings)


def healthcheck(settings: Settings, options: argparse.Namespace) -> int:
    """Return 0 if every listener answers as it should; else print the first that does not, and return 1."""
    try:
        health.check(settings)
    except health.Unhealthy as error:
        return fail(error)
    return 0


def admin_password(settings: Settings, options: argparse.Namespace) -> int:
    """Print the administrator's password: the setting or, without one, the generated password."""
    try:
        password = settings.admin_password or read_password(settings.data)
    except OSError as error:
        return fail(error)
    if not password:
        return fail("no password yet: it is generated when the server starts")
    print(password)
    return 0


def metrics(settings: Settings, options: argparse.Namespace) -> int:
    """Print the running server's metrics, in Prometheus' text format."""
    import http.client

    try:
        status, text = ask_server(settings, "GET", "/metrics")
    except (OSError, http.client.HTTPException) as error:
        return fail(f"the server does not answer: {error}")
    print(text, end="")
    return 0 if status == 200 else 1


def ask_server(settings: Settings, method: str, path: str, tag: str | None = None) -> tuple[int, str]:
    """Send a request to the running server's metrics port; return the status and the text of its response.

    Raise OSError, ValueError, http.client.HTTPException.
    """
    import http.client

    connection = http.client.HTTPConnection(*settings.metrics.reachable_at, timeout=10)
    try:
        connection.request(method, path, headers={"X-Cache-Tags": tag} if tag else {})
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def lessons(settings: Settings, options: argparse.Namespace) -> int:
    """Show the output of `make check LESSON=all JSON=1` on the pages, and purge the old pages."""
    from upstage.web.lessons import write_lessons

    if not settings.lessons:
        return fail("there are no lessons here (UPSTAGE_LESSONS)")
    if why := write_lessons(settings.lessons, settings.data, sys.stdin):
        return fail(why)
    return send_purge(settings, "/", tag="lessons") if settings.caches else 0


def set_aside(settings: Settings, options: argparse.Namespace) -> int:
    """Rename the database and print its new name; change nothing, and fail, if it is not damaged."""
    import sqlite3

    from upstage.state import damage

    try:
        if not damage.find_damage(settings.data):
            return fail(f"there is no damaged database in {settings.data}")
        kept = damage.set_aside(settings.data)
    except (sqlite3.Error, OSError) as error:
        return fail(error)
    print(f"kept as {kept}; the server's next start makes a new database")
    return 0


def backup(settings: Settings, options: argparse.Namespace) -> int:
    """Write the archive at a low priority, so that it does not slow the server down."""
    import sqlite3

    from upstage.backup.write import write_backup
    from upstage.state.copies import CopyError

    if sys.stdout.isatty():
        return fail("a backup is an archive: send it to a file")
    os.nice(10)
    try:
        write_backup(settings.data, settings.media, settings.load_account, sys.stdout.buffer)
    except (CopyError, sqlite3.Error, OSError) as error:
        return fail(f"no backup: {error}")
    return 0


def restore(settings: Settings, options: argparse.Namespace) -> int:
    """Restore or check the archive on standard input, or remove the folders of replaced data."""
    import sqlite3

    from upstage.backup import restore as restoring
    from upstage.backup.archive import ArchiveError
    from upstage.state.data_lock import InUseError

    def listed(folders: dict[Path, int]) -> str:
        return ", ".join(f"{folder} ({size / 1000:.0f} kB)" for folder, size in folders.items())

    os.umask(0o022)  # nginx, another user, reads the media
    data, media, archive = settings.data, settings.media, sys.stdin.buffer
    try:
        if options.check:
            print(restoring.check(data, media, archive))
        elif options.remove_replaced:
            removed = restoring.remove_replaced(data, media)
            if not removed:
                return fail("there is nothing that a restore has replaced")
            print(f"removed: {listed(removed)}")
        else:
            print(f"restored: {restoring.restore(data, media, archive, options.move)}")
            if kept := restoring.replaced(data, media):
                print(f"replaced data: {listed(kept)}")
    except (ArchiveError, InUseError, sqlite3.Error, OSError) as error:
        only = options.check or options.remove_replaced
        return fail(error if only else f"nothing was restored: {error}")
    return 0


def send_purge(settings: Settings, path: str, tag: str | None) -> int:
    """Let the running server purge every cache; it repeats a purge that a cache has missed."""
    import http.client

    if not settings.caches:
        return fail("there is no cache to purge: UPSTAGE_PURGE is empty")
    try:
        status, problem = ask_server(settings, "PURGE", path, tag)
    except (OSError, ValueError, http.client.HTTPException) as error:
        return fail(f"the server did not purge: {error}")
    if status == 503:
        return fail(f"not purged yet, repeated until it is: {problem}")
    return 0 if status == 200 else fail(problem)


def database_task(task: cli_records.DatabaseTask) -> Task:
    """Return `task` as a command that opens the server's database and reports invalid requests."""

    def run(settings: Settings, options: argparse.Namespace) -> int:
        import sqlite3

        from upstage.state.database import FILE, Database
        from upstage.state.passwords import PasswordError
        from upstage.state.records import RecordError

        file = settings.data / FILE
        if not file.exists():
            return fail(f"there is no {file} yet: it is created when the server starts")
        try:
            database = Database(settings.data)
            try:
                task(database, options)
            finally:
                database.close()
        except sqlite3.Error as error:
            return fail(f"{file}: {error}")
        except (RecordError, PasswordError) as error:
            return fail(error)
        return 0

    return run


def fail(problem: object) -> int:
    """Print the problem on standard error; return the exit status of a failure."""
    print(f"upstage: {problem}", file=sys.stderr)
    return 1
