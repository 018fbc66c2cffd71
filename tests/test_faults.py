"""Each fault of faults/ under a light load: what fails, until when, and what players lose."""

import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.fault import Fault, faults
from tests.stack import PROJECT, REPO, Stack
from tests.support.checkout import copy_checkout
from tests.support.visitors import Visitors, seen_by_a_newcomer
from tests.support.wait import wait_until
from tests.test_watch import watching

# The faults of `make test`, which take the shortest time.
QUICK = shlex.split("""
    varnish-worker-killed nginx-worker-killed policyd-killed backend-killed broken-vcl broken-nginx
    nginx-killed varnish-killed nginx-disk-full varnish-memory-full
""")
QUIET = 2.0  # seconds without a failure, after which a fault counts as over
ROWS: dict[str, str] = {}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Yield a stack from a separate checkout, because some faults change files."""
    folder = tmp_path_factory.mktemp("faults")
    folder.chmod(0o755)  # nginx's and Varnish's users read it
    copy_checkout(folder)
    stack = Stack("containers", f"{PROJECT}-faults", settings={"UPSTAGE_FESTIVAL": "off"}, folder=folder)
    with stack.running():
        yield stack


@pytest.fixture(scope="module")
def watch(faulty: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield the output of one `make watch`, which continues through every fault."""
    log = tmp_path_factory.mktemp("watch") / "log"
    with watching(faulty, log, "fault") as process:
        yield log
        (REPO / "test-results" / "watch.log").write_text(log.read_text())
        assert process.poll() is None


@pytest.mark.parametrize(
    "fault",
    [pytest.param(one, id=one.name, marks=() if one.name in QUICK else pytest.mark.slow) for one in faults()],
)
def test_a_fault_keeps_its_promise(faulty: Stack, watch: Path, fault: Fault) -> None:
    watched = len(watch.read_text())
    with Visitors(faulty) as visitors:
        time.sleep(QUIET)
        assert not visitors.failed()
        assert not fault.shows or shows(faulty, fault) == 0
        broken = time.monotonic()
        faulty.make("break", f"FAULT={fault.name}")
        wait_until(lambda: not fault.shows or shows(faulty, fault))  # connections to it are left
        if not fault.commands[1]:
            faulty.make("status")  # the stack has repaired itself; this fails if a service is not well
        if fault.lasts:
            time.sleep(max(0, broken + fault.lasts - time.monotonic()))
        mending = time.monotonic()
        faulty.make("mend")
        mended = time.monotonic()
        note = faulty.get("/.nginx/fault").json()
        wait_until(
            lambda: not visitors.failed(time.monotonic() - QUIET),
            within=fault.heals + 15,
            report=lambda: str(visitors.failed(time.monotonic() - QUIET)),
        )
    failed = visitors.failed()
    since = mending if fault.lasts else broken
    healed = max([visit.ended for visit in failed], default=since) - since
    kinds = {visit.kind for visit in failed}
    kept, place = seen_by_a_newcomer(faulty)
    lost = [
        line
        for when, line in visitors.said
        if line not in kept and not (fault.loses and broken < when < mended)
    ]
    numbers = ", ".join(f"{kind} {sum(v.kind == kind for v in failed)}" for kind in sorted(kinds))
    cells = (
        fault.title,
        fault.users,
        f"{numbers or 'none'} of {len(visitors.visits)}",
        f"{max(0, healed):.1f} s",
        f"{len(lost)} of {len(visitors.said)}{', signed out' * visitors.signed_out}",
    )
    ROWS[fault.name] = f"| {' | '.join(cells)} |"
    assert kinds <= fault.may_fail, {visit for visit in failed if visit.kind not in fault.may_fail}
    assert failed or not fault.may_fail or fault.at_most, "nothing was broken"
    assert healed <= fault.heals
    assert not lost
    assert place in visitors.places
    assert not visitors.signed_out or fault.loses
    assert not fault.shows or shows(faulty, fault) == 0
    told = note["mended"] + time.monotonic() - time.time()
    assert note["name"] == fault.name
    # "Mended" was true. A player without a connection makes the next one only after a moment.
    assert [visit for visit in failed if visit.began > told and visit.problem != "no connection"] == []
    wait_until(lambda: not gone(watch.read_text()[watched:]), within=30)


def shows(stack: Stack, fault: Fault) -> int:
    """Return the exit status of the fault's command, which fails while the stack is broken."""
    return subprocess.run(["bash", "-c", fault.shows], env=stack.environment, timeout=30).returncode


def gone(watched: str) -> list[str]:
    """Return the services that have stopped and are not back, according to `make watch`."""
    told = dict(re.findall(r"^[\d:]{8}  (\S+) (has stopped|is frozen|is back|goes on)\.$", watched, re.M))
    return [name for name, last in told.items() if last in ("has stopped", "is frozen")]


def test_pages_are_told_what_is_broken(faulty: Stack) -> None:
    faulty.make("break", "FAULT=policyd-frozen")
    told = faulty.get("/.nginx/fault").json()
    assert (told["title"], told["mended"]) == ("The policy daemon hangs", 0)
    faulty.make("mend")
    assert faulty.get("/.nginx/fault").json()["mended"] > told["broken"]


def test_the_table_of_measurements(faulty: Stack) -> None:
    """test-results/faults.md is the table of docs/reliability.md after a run of all of them."""
    folder = REPO / "test-results"
    folder.mkdir(exist_ok=True)
    head = ["| fault | users see | failed visits | healed after | lost |", "|---|---|---|--:|--:|"]
    (folder / "faults.md").write_text("\n".join([*head, *(ROWS[name] for name in sorted(ROWS))]) + "\n")
    page = (REPO / "docs" / "reliability.md").read_text()
    assert [fault.name for fault in faults() if f"| {fault.title} | {fault.users} | " not in page] == []
