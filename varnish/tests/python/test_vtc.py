"""Every rule of the VCL against the real Varnish: one `.vtc` each, run by `varnishtest`."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.program import PATH
from varnish.tests.python.varnish_server import QUICK, VARNISH

WRITTEN = {"backends.vcl", "app_backend.vcl", "rules.vcl"}  # by start.sh
VTCS = sorted((VARNISH / "tests").glob("*.vtc"))
STARTER = sorted(
    (VARNISH.parent / "starter" / "tests").glob("*.vtc")
)  # its rules are those of an application of your own
SITE = Path("extras/app")
OWN = sorted((VARNISH.parent / SITE).glob("*.vtc"))  # for rules.vcl, if the user has one


@pytest.fixture(scope="module")
def quick_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a PATH with a varnishd that compiles quickly, and as the user who started it.

    By default varnishd gives up root, and then cannot read a checkout in a folder that only root may enter.
    """
    folder = tmp_path_factory.mktemp("bin")
    wrapper = folder / "varnishd"
    wrapper.write_text(f'#!/bin/sh\nexec {shutil.which("varnishd", path=PATH)} -j none -p "{QUICK}" "$@"\n')
    wrapper.chmod(0o755)
    return f"{folder}:{PATH}"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a link to the checkout without spaces in its path, which varnishtest does not quote."""
    link = tmp_path_factory.mktemp("link") / "checkout"
    link.symlink_to(VARNISH.parent)
    return link


def run(vtc: Path, path: str) -> None:
    program = shutil.which("varnishtest", path=PATH)
    assert program, "varnishtest is missing, and no rule is proven without it: sudo apt-get install varnish"
    done = subprocess.run(
        [program, "-t", "60", vtc],
        cwd="/",  # a path that varnishtest uses in a command without quotes
        env={"PATH": path},
        text=True,
        errors="replace",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode == 77:
        pytest.skip("this Varnish lacks the VTC's `feature`")
    if done.returncode != 0:
        # A line with four dashes says what failed; the shared memory log before it says why.
        reason = re.findall(r"^---- .*", done.stdout, flags=re.M)
        tail = "\n".join(done.stdout.splitlines()[-120:])
        pytest.fail(f"{tail}\n\n{vtc.name}: " + "\n".join(reason), pytrace=False)


@pytest.mark.parametrize(
    "vtc",
    VTCS + STARTER + OWN,
    ids=lambda vtc: f"starter-{vtc.stem}" if vtc in STARTER else vtc.stem,
)
def test_rule(vtc: Path, quick_path: str, checkout: Path) -> None:
    run(checkout / vtc.relative_to(VARNISH.parent), quick_path)


def test_rules_of_the_site_page(quick_path: str, tmp_path: Path) -> None:
    page = (VARNISH.parent / SITE / "README.md").read_text()
    (tmp_path / "starter").symlink_to(VARNISH.parent / "starter")
    site = tmp_path / SITE
    site.mkdir(parents=True)
    for ending in "vcl", "vtc":
        [text] = re.findall(rf"^```{ending}\n(.*?)^```", page, flags=re.M | re.S)
        (site / f"rules.{ending}").write_text(text)
    run(site / "rules.vtc", quick_path)


def test_every_file_is_in_the_readme() -> None:
    readme = (VARNISH / "README.md").read_text()
    here = {vcl.name for vcl in VARNISH.glob("*.vcl")} | WRITTEN
    starter = {vcl.name for vcl in VARNISH.parent.glob("starter/varnish/*.vcl")}
    named = set(re.findall(r"`(\w+\.vcl)`", readme))
    assert here <= named <= here | starter
