"""Every rule of the VCL against the real Varnish: one `.vtc` each, run by `varnishtest`."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from varnish_server import PATH, VARNISH

VTCS = sorted((VARNISH / "tests").glob("*.vtc"))

Run = subprocess.CompletedProcess[str]
# Several threads start programs here. A child that borrows its parent's memory for that (vfork) was seen to
# find it changed under its feet: EFAULT.
subprocess._USE_VFORK = False  # type: ignore[misc]


def run(name: str, *arguments: str | Path) -> Run:
    """Run one of Varnish's programs."""
    program = shutil.which(name, path=PATH)
    if program is None:
        pytest.fail(f"{name} is missing, and no rule is proven without it: sudo apt-get install varnish")
    return subprocess.run(
        [program, *arguments], text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


@pytest.fixture(scope="session")
def runs(request: pytest.FixtureRequest) -> Iterator[dict[Path, Future[Run]]]:
    """All chosen VTCs, four at a time: most of their time is spent waiting for an object to grow old."""
    params = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    chosen = [p["vtc"] for p in params if "vtc" in p]
    with ThreadPoolExecutor(max_workers=4) as pool:
        yield {vtc: pool.submit(run, "varnishtest", "-t", "60", vtc) for vtc in chosen}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("vtc", VTCS, ids=lambda vtc: vtc.stem)
def test_rule(vtc: Path, runs: dict[Path, Future[Run]]) -> None:
    done = runs[vtc].result()
    if done.returncode != 0:
        # What failed is on a line with four dashes; the shared memory log before it says why.
        reason = re.findall(r"^---- .*", done.stdout, flags=re.M)
        tail = "\n".join(done.stdout.splitlines()[-120:])
        pytest.fail(f"{tail}\n\n{vtc.name}: " + "\n".join(reason), pytrace=False)


def test_every_file_and_test_is_in_the_readme() -> None:
    readme = (VARNISH / "README.md").read_text()
    assert set(re.findall(r"`(\w+)\.vtc`", readme)) == {vtc.stem for vtc in VTCS}
    files = {vcl.name for vcl in VARNISH.glob("*.vcl")}
    assert set(re.findall(r"`(\w+\.vcl)`", readme)) == files | {"backends.vcl"}  # which start.sh writes
