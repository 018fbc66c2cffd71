"""`make backup` and `make restore`: the files that they leave, and a stack that comes back from one of them.

backend/tests/test_backup.py tests the archive itself.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bare import engine, functions, note
from tests.editing import has_data, leave_data
from tests.stack import PROJECT, Stack
from tests.support.wait import wait_until

CHECKED = "'exec -i 1 upstage restore --check') cat >checked; echo the data"
# An engine whose backend can be backed up.
ANSWERS = ("'exec -i 1 upstage backup') printf archive", CHECKED)


def command(bare: Path, script: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return functions(bare, f"bin/{script}", **settings)


def kept(bare: Path) -> list[str]:
    """Return the files in the folder of the backups, hidden ones included."""
    return sorted(path.name for path in (bare / "backups").iterdir())


def old_backups(bare: Path, *names: str) -> list[str]:
    (bare / "backups").mkdir(exist_ok=True)
    for name in names:
        (bare / "backups" / name).write_text("old")
    return list(names)


def test_a_backup_is_private_complete_and_has_a_dated_name(bare: Path) -> None:
    engine(bare, *ANSWERS)
    done = command(bare, "backup")
    assert (done.returncode, done.stderr) == (0, "")
    [name] = kept(bare)
    assert re.fullmatch(r"proscenium-\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d\.tar\.gz", name)
    assert done.stdout == f"backups/{name}, 0 kB: the data\n"
    assert (bare / "backups" / name).read_text() == "archive"
    assert (bare / "checked").read_text() == "archive"  # the backup was read back
    assert (bare / "backups").stat().st_mode & 0o777 == 0o700
    assert (bare / "backups" / name).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("keep", "left"), [("", 6), ("2", 1), ("100", 8)])
def test_the_oldest_backups_of_this_stack_go_beyond_the_limit(bare: Path, keep: str, left: int) -> None:
    engine(bare, *ANSWERS)
    old = old_backups(bare, *(f"proscenium-2020-01-0{day}_10-00-00.tar.gz" for day in range(1, 9)))
    others = old_backups(
        bare,
        "proscenium-2-2020-01-01_10-00-00.tar.gz",
        "proscenium.second-2020-01-01_10-00-00.tar.gz",
        "proscenium-before-the-festival.tar.gz",
    )
    done = command(bare, "backup", BACKUP_KEEP=keep)
    assert done.returncode == 0, done.stderr
    now = kept(bare)
    assert set(others) <= set(now)
    assert [name for name in now if name in old] == old[len(old) - left :]
    assert len(now) == left + len(others) + 1
    assert done.stdout.count("Removed: ") == len(old) - left


@pytest.mark.parametrize("failing", ["backup", "check"])
def test_a_backup_that_fails_removes_nothing(bare: Path, failing: str) -> None:
    broken = {
        "backup": "'exec -i 1 upstage backup') printf half; exit 1",
        "check": "'exec -i 1 upstage restore --check') cat >/dev/null; exit 1",
    }
    engine(bare, broken[failing], *ANSWERS)
    old = old_backups(bare, *(f"proscenium-2020-01-0{day}_10-00-00.tar.gz" for day in range(1, 9)))
    done = command(bare, "backup", BACKUP_KEEP="1")
    assert done.returncode == 1
    assert "earlier ones are kept" in done.stderr
    assert kept(bare) == old


def test_a_backup_goes_where_it_is_told_to(bare: Path, tmp_path: Path) -> None:
    engine(bare, *ANSWERS)
    old = old_backups(bare, *(f"proscenium-2020-01-0{day}_10-00-00.tar.gz" for day in range(1, 9)))
    file = tmp_path / "before the festival.tar.gz"
    assert command(bare, "backup", FILE=str(file), BACKUP_KEEP="1").returncode == 0
    assert file.read_text() == "archive"
    assert file.stat().st_mode & 0o777 == 0o600
    assert kept(bare) == old
    done = command(bare, "backup", FILE="nowhere/x.tar.gz")
    assert (done.returncode, done.stderr) == (1, "FILE=nowhere/x.tar.gz: there is no such folder.\n")


# A restore, in the log of the engine.
def steps(log: Path) -> list[str]:
    """Return the engine's commands on containers: inside one, beside one, or for one as a whole."""
    aside = re.sub(r"^run .*--volumes-from (\d) .*(upstage .*)$", r"aside \1 \2", log.read_text(), flags=re.M)
    return re.findall(r"^(?:aside|exec -i \d upstage|stop|start) .*$", aside, re.M)


RESTORE = (
    "*'upstage restore --check') cat >checked; echo the data",
    "*'upstage restore') cat >restored; echo restored",
    "stop*|start*|'exec -i 1 upstage purge'*)",
    "inspect*Health*) echo healthy",
)
ASIDE = "aside 1 upstage restore"
PURGES = [f"exec -i 1 upstage purge / --tag {tag}" for tag in ("media", "lessons")]


def test_the_newest_backup_is_checked_before_the_backend_is_stopped(bare: Path) -> None:
    log = engine(bare, *RESTORE)
    for day in (3, 9, 5):
        old_backups(bare, f"proscenium-2020-01-0{day}_10-00-00.tar.gz")
    (bare / "backups" / "proscenium-2020-01-09_10-00-00.tar.gz").write_text("the newest")
    done = command(bare, "restore")
    assert (done.returncode, done.stderr) == (0, "")
    assert (bare / "checked").read_text() == (bare / "restored").read_text() == "the newest"
    assert "It has the data\n" in done.stdout
    assert "\nrestored\n" in done.stdout
    assert steps(log) == [f"{ASIDE} --check", "stop 1", ASIDE, "start 1", *PURGES]


def test_the_data_of_the_active_server_are_replaced(bare: Path) -> None:
    note(bare, "mirror-is-active", "")
    listed = "ps*.State}}*) printf '%s running\\n' 'nginx 1' 'mirror 2'"
    log = engine(bare, listed, "ps*service=mirror*) echo 2", "'exec -i 2 upstage purge'*)", *RESTORE)
    old_backups(bare, "proscenium-2020-01-01_10-00-00.tar.gz")
    assert command(bare, "restore").returncode == 0
    aside = ASIDE.replace("1", "2")
    purges = [purge.replace("-i 1", "-i 2") for purge in PURGES]
    assert steps(log) == [f"{aside} --check", "stop 2", aside, "start 2", *purges]


def test_a_backup_that_is_refused_stops_nothing(bare: Path) -> None:
    log = engine(bare, "*'upstage restore --check') cat >/dev/null; exit 1", *RESTORE)
    old_backups(bare, "proscenium-2020-01-01_10-00-00.tar.gz")
    done = command(bare, "restore")
    assert (done.returncode, done.stderr) == (1, "Nothing has been changed.\n")
    assert "stop" not in log.read_text()


def test_after_a_restore_that_fails_the_backend_starts_again(bare: Path) -> None:
    log = engine(bare, "*'upstage restore') cat >/dev/null; exit 1", *RESTORE)
    old_backups(bare, "proscenium-2020-01-01_10-00-00.tar.gz")
    done = command(bare, "restore")
    assert (done.returncode, done.stderr) == (1, "The data are those that were there before.\n")
    assert steps(log)[-1] == "start 1"


def test_a_theatre_has_backups_of_its_own(bare: Path) -> None:
    note(bare, "theatres/01-second.yaml", "")
    listed = "ps*.State}}*) printf '%s running\\n' 'nginx 1' 'backend 1' 'second 2'"
    services = f"{listed} ;; ps*.service?}}}}*) printf '%s\\n' nginx backend second"
    backups = (answer.replace("-i 1", "-i 2") for answer in ANSWERS)
    log = engine(bare, services, "ps*service=second*) echo 2", *backups, *ANSWERS, "start*)", *RESTORE)
    done = command(bare, "backup")
    assert done.stdout.endswith("Each theatre has a backup of its own: make backup THEATRE=second\n")
    assert command(bare, "backup", THEATRE="second").returncode == 0
    names = [name.partition("-20")[0] for name in kept(bare)]
    assert names == ["proscenium", "proscenium.second"]
    done = command(bare, "backup", THEATRE="third")
    assert done.stderr == "THEATRE is 'third'; the stack has these: second.\n"
    log.unlink()
    engine(bare, services, "ps*service=second*) echo 2", "'exec -i 2 upstage purge'*)", *RESTORE)
    assert command(bare, "restore", THEATRE="second").returncode == 0
    assert {"stop 2", "start 2"} <= set(log.read_text().splitlines())
    assert "stop 1" not in log.read_text()


def test_what_restores_have_replaced_is_removed_while_the_stack_runs(bare: Path) -> None:
    log = engine(bare, "*'upstage restore --remove-replaced') echo removed: both")
    done = command(bare, "restore", REMOVE="replaced")
    assert (done.returncode, done.stdout) == (0, "removed: both\n")
    assert steps(log) == [f"{ASIDE} --remove-replaced"]


@pytest.mark.parametrize(
    ("script", "settings", "complaint"),
    [
        ("backup", {"BACKUP_KEEP": "none"}, "BACKUP_KEEP must be a number from 1 to 9999, not 'none'"),
        ("restore", {}, "There is no backups/proscenium-*.tar.gz. Say which backup: make restore FILE=..."),
        ("restore", {"FILE": "x"}, "FILE=x: there is no such file that you can read."),
        ("restore", {"REMOVE": "all"}, "REMOVE is 'all'; it can be: replaced."),
    ],
)
def test_a_mistake_is_named(bare: Path, script: str, settings: dict[str, str], complaint: str) -> None:
    engine(bare)
    done = command(bare, script, **settings)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{complaint}\n")


@pytest.mark.parametrize("script", ["backup", "restore"])
def test_without_a_stack_there_is_nothing_to_back_up(bare: Path, script: str) -> None:
    engine(bare, "ps*)")
    done = command(bare, script)
    assert (done.returncode, done.stderr) == (1, "The stack 'proscenium' is not running. Type: make up\n")


@pytest.fixture(params=["containers", "native"])
def own(request: pytest.FixtureRequest) -> Iterator[Stack]:
    """Yield a stack whose data the test removes."""
    with Stack(request.param, f"{PROJECT}-backup-{request.param}").running() as stack:
        yield stack


@pytest.mark.slow
def test_a_stack_that_has_lost_its_data_comes_back(own: Stack, tmp_path: Path) -> None:
    """The admin's password returns, and caches drop their copies. (All contents: backend/tests.)"""
    stack, password = own, own.admin_password
    upload = leave_data(stack)
    backup = tmp_path / "backup.tar.gz"
    assert str(backup) in stack.make("backup", f"FILE={backup}")
    stack.make("clean")
    stack.printed = stack.make("up")
    assert stack.admin_password != password
    stack.write_medium("backend", upload.rpartition("/")[2], "<svg/>")
    assert stack.get(upload).text == "<svg/>"  # the caches have it now

    said = stack.make("restore", f"FILE={backup}")
    assert "restored: the data of 20" in said
    assert "replaced data: " in said
    stack.wait_until_ready()
    assert stack.upstage("admin-password").strip() == password
    wait_until(lambda: has_data(stack, upload))
