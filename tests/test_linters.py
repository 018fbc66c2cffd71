"""The linters: Python, shell, Dockerfiles, nginx, and line endings."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lessons.lesson import lessons
from tests.outside.allowed import compare
from tests.stack import REPO
from tests.support.checks import check, tracked
from tests.support.program import PATH

BIN = Path(sys.executable).parent


def test_ruff() -> None:
    check(BIN / "ruff", "check", ".")
    check(BIN / "ruff", "format", "--check", ".")


@pytest.mark.parametrize(
    "part",
    [
        *("policyd/src", "backend/src", "varnish/tests", "nginx/tests", "tests", "native"),
        # As files below loadtest/, a root, they would be `tests`.
        *("loadtest --exclude=loadtest/tests/", "-p loadtest.tests"),
        *("labs", "docs/record.py", "logs", "extras/app", "extras/observe", "extras/kubernetes", "starter"),
        *(
            "faults",
            "lessons/checking",
            "lessons/classroom",
            "lessons/pages",
            "lessons/tests",
            "lessons/learners",
            "proscenium",
        ),
    ],
)
def test_mypy(part: str) -> None:
    check(BIN / "mypy", *part.split())


def test_mypy_of_the_lessons_checks(tmp_path: Path) -> None:
    # Each has a separate name: mypy must distinguish the modules of one run.
    for lesson in lessons():
        shutil.copy(lesson.folder / "check.py", tmp_path / f"check_{lesson.number}.py")
    check(BIN / "mypy", str(tmp_path))


@pytest.mark.long
def test_shellcheck() -> None:
    # A bash library is checked where the commands in bin/ source it.
    scripts = [
        name
        for name in tracked(":(glob)bin/*", "*.sh", ".ci/run")
        if not (REPO / name).read_text().startswith("# shellcheck shell=bash")
    ]
    assert len(scripts) > 6
    check("shellcheck", *scripts)
    # These two, one for each mode, are chosen at run time (bin/lib/modes.sh), and use what common.sh sets.
    modes = ("bin/lib/containers.sh", "native/native.sh")
    check("shellcheck", "--exclude=SC2154,SC2034,SC2086,SC2119,SC2120", *modes)


def test_the_format_of_javascript_and_css() -> None:
    check(BIN / "oxfmt", "--check", ".")


def test_hadolint() -> None:
    files = tracked("*Dockerfile")
    assert files
    check(BIN / "hadolint", *files)


def rendered_nginx_config(folder: Path, extras: dict[str, str] | None = None) -> Path:
    """Return the configuration as start.sh writes it; `folder` is also its prefix."""
    settings = {
        "PATH": PATH,
        "GENERATED_FOLDER": str(folder),
        "CERTIFICATE_FOLDER": str(folder),
        "PREFIX": str(folder),
        "THEATRES": "second third",
        **(extras or {}),
    }
    check("sh", "-c", '. "$(dirname "$0")/scripts/render.sh"', REPO / "nginx" / "start.sh", env=settings)
    return folder / "nginx.conf"


def test_nginx_accepts_its_configuration(tmp_path: Path) -> None:
    nginx = shutil.which("nginx", path=PATH)
    assert nginx, "nginx is missing; make test installs it as root"
    assert "successful" in check(
        nginx, "-t", "-e", "stderr", "-p", tmp_path, "-c", rendered_nginx_config(tmp_path)
    )


# With these settings the configuration contains all files and blocks.
EVERYTHING = {
    "APP": "http://127.0.0.1:8001",
    "OBSERVE_LOG": "unix:/run/observe.sock",
    "OBSERVE_ADDRESS": "127.0.0.1:9090",
    "VARNISH_ADDRESS": "127.0.0.1:8082 127.0.0.1:8083",
    "HTTPS_REDIRECT": "on",
    "CDN": "on",
}


def test_gixy(tmp_path: Path) -> None:
    command = (BIN / "gixy", "--format", "json", rendered_nginx_config(tmp_path, EVERYTHING))
    found = json.loads(subprocess.run(command, capture_output=True, check=False).stdout)
    # gixy puts all places of one kind into one finding; each of their directives is a finding here.
    directives = {
        f"{problem['plugin']}: {line.strip()}": problem["reason"] or problem["summary"]
        for problem in found
        for line in problem["config"].splitlines()
        if line.endswith(";") and not line.strip().startswith("server_name ")
    }
    compare("gixy", directives)


def test_the_files_have_unix_line_ends() -> None:
    for name in tracked():
        content = (REPO / name).read_bytes()
        assert b"\0" in content or b"\r\n" not in content, name


def test_what_people_copy_has_one_statement_a_line() -> None:
    """Its lines have at most 100 columns."""
    copied = tracked("starter/nginx", "starter/varnish")
    files = [name for name in copied if re.search(r"(?<!page)\.(conf|vcl)$", name)]
    assert len(files) > 10
    for name in (*copied, "starter/compose.yaml"):
        for line in (REPO / name).read_text().splitlines():
            assert len(line) <= 100, f"{name}: {line}"
            code = re.sub(r"""\{".*?"\}|(["']).*?\1|#.*|^\s*} els(e|if)""", "", line)
            assert name not in files or not re.search(r"[;{}]\s*\S", code.rstrip()), f"{name}: {line}"


# Lines by which a program would read something other than data, or write a part of a file. Tests and checks
# of lessons may read sources, and lessons/pages renders pages.
NO_DATA = {
    ".sh": [
        r"<!--",  # marks in a page
        r"\b(sed|awk|grep)\b[^|;]*\.(json|toml|ya?ml|md)\b",
        r"json\W* *\|.*\b(sed|awk|grep|cut)\b",
        r"done <\S*\.(json|toml|ya?ml|md)\b",
    ],
    ".py": [
        r"<!--",
        r"\bre\.\w+\(.*\.(json|toml|ya?ml|md)\b",
        r"read_text\([^)]*\)\.(partition|replace)\(",
    ],
}


def test_programs_read_data_and_write_files_as_a_whole() -> None:
    found = []
    left_out = re.compile(
        r"(.*/)?(tests|learners|proof)/|(lessons/(\d\d-|pages/)|backend/|starter/|loadtest/)"
    )
    for name in tracked("*.py", "*.sh", ":(glob)bin/*", ".ci/run"):
        if left_out.match(name):
            continue
        for line in (REPO / name).read_text().splitlines():
            code = line if name.endswith(".py") else re.sub(r"'[^']*'", "''", line)
            if any(re.search(pattern, code) for pattern in NO_DATA[".py" if name.endswith(".py") else ".sh"]):
                found.append((name, line.strip()))
    assert found == []
