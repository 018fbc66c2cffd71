"""Python dependencies: the lock files agree, and the load test needs only packages of Locust's image."""

import ast
import re
import sys
from collections.abc import Iterable
from importlib.metadata import packages_distributions, requires

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.stack import REPO
from tests.support.checks import tracked


def test_locks_hold_together() -> None:
    """One virtual environment holds all of them, so a package has one version, or one for each Python."""
    found: dict[str, set[frozenset[str]]] = {}
    for lock in tracked("*requirements.lock"):
        pins: dict[str, set[str]] = {}
        for name, version in re.findall(r"^([\w.-]+)==(\S+)", (REPO / lock).read_text(), re.M):
            pins.setdefault(name, set()).add(version)
        for name, versions in pins.items():
            found.setdefault(name, set()).add(frozenset(versions))
    assert found
    assert {name: versions for name, versions in found.items() if len(versions) > 1} == {}


def requirements(distribution: str, extras: Iterable[str] = ()) -> set[str]:
    """Return the packages that a package needs here, directly or indirectly, with these extras."""
    found = set()
    for each in map(Requirement, requires(distribution) or []):
        if each.marker is None or any(each.marker.evaluate({"extra": name}) for name in ("", *extras)):
            found |= {canonicalize_name(each.name)} | (
                requirements(each.name, each.extras) if each.extras else set()
            )
    return found


def third_party_imports() -> set[str]:
    """Return the modules that the load test imports, except its own and Python's."""
    loadtest = REPO / "loadtest"
    parts = [part for part in loadtest.rglob("*.py") if "tests" not in part.parts]
    imported = set()
    for part in parts:
        for node in ast.walk(ast.parse(part.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.split(".")[0])
    return imported - sys.stdlib_module_names - {path.stem for path in loadtest.iterdir()}


def test_the_official_locust_image_brings_what_the_load_test_imports() -> None:
    """Locust's image is not built from our lock: it contains only Locust and its dependencies."""
    of = packages_distributions()
    used = {canonicalize_name(of[name][0]) for name in third_party_imports()}

    brought, new = {"locust"}, {"locust"}
    while new:
        new = set[str]().union(*(requirements(name) for name in new)) - brought
        brought |= new
    assert used <= brought
    # wsproto comes only with engineio and simple-websocket; without them, we would have to install it.
    assert used - requirements("locust") - {"locust"} == {"wsproto"}
