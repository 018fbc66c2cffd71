"""`make bundle`: its contents, its messages on the other machine, and a room that no network reaches."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.stack import PROJECT, REPO
from tests.support.checkout import copy_checkout
from tests.support.checks import ran

# An engine: an image is a file that contains its label.
DOCKER = """#!/bin/sh
mkdir -p "$ENGINE" && for last; do :; done
case "$*" in
*" -f - config --images") echo python:3 ;;
*" config --images") printf '%s\\n' nginx:1 "$COMPOSE_PROJECT_NAME-backend" "$COMPOSE_PROJECT_NAME-policyd" ;;
"image inspect -f {{index"*) sed -n 's/^proscenium[^=]*=//p' "$ENGINE/$last" ;;
"image inspect -f"*) echo layers ;;
"images -q"*) grep -lx "${last#label=}" "$ENGINE"/* 2>/dev/null || true ;;
"tag "*) [ "$2" = "$ENGINE/$3" ] || cp "$2" "$ENGINE/$3" ;;
"build --label "*) echo "$3" >"$ENGINE/$7" ;;
"save "*) shift && tar -C "$ENGINE" -c "$@" ;;
"load "*) tar -C "$ENGINE" -xzf "$3" ;;
esac
"""
IMAGES = ("nginx:1", "python:3")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Return a checkout, with a docker and a pip that need no engine and no index."""
    checkout = tmp_path / "checkout"
    copy_checkout(checkout)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "docker").write_text(DOCKER)
    (programs / "docker").chmod(0o755)
    venv = checkout / ".venv" / "bin"
    venv.mkdir(parents=True)
    (venv / "python").symlink_to(shutil.which("python3") or "")
    (venv / "pip").write_text('#!/bin/sh\nmkdir -p "$6" && echo "$8" >"$6/$(echo "$8" | tr / -).whl"\n')
    (venv / "pip").chmod(0o755)
    stamp = "touch .venv/installed-$(cksum <tests/requirements.lock | tr ' ' -)"
    subprocess.run(stamp, shell=True, cwd=checkout, check=True)
    engine = tmp_path / "engine"
    engine.mkdir()
    for name in IMAGES:
        (engine / name).write_text("pulled\n")
    return checkout


def run(command: list[str | Path], folder: Path, engine: str = "engine") -> subprocess.CompletedProcess[str]:
    root: Path = next(parent for parent in (folder, *folder.parents) if (parent / "bin" / "docker").exists())
    path = f"{root / 'bin'}:{os.environ['PATH']}"
    environment = {"PATH": path, "ENGINE": str(root / engine), "HOME": str(root)}
    return ran(*command, cwd=folder, env=environment, timeout=60)


def unpacked(machine: Path) -> Path:
    """Run `make bundle`; return the unpacked folder."""
    done = run(["bin/bundle"], machine)
    assert not done.returncode, done.stderr
    [name] = re.findall(r"^ +tar -xf (\S+)\.tar$", done.stdout, re.M)
    subprocess.run(["tar", "-xf", machine / ".run" / f"{name}.tar"], cwd=machine.parent, check=True)
    return machine.parent / str(name)


def test_an_image_that_is_current_stays_when_there_is_another_of_the_same_files(machine: Path) -> None:
    """Two builds at the same time leave two images; for the other one Compose would re-create the service."""
    unpacked(machine)
    engine = machine.parent / "engine"
    [image] = engine.glob("*backend")
    (engine / "another").write_text(image.read_text())
    image.write_text(f"{image.read_text()}the service's own\n")
    assert not run(["bin/bundle"], machine).returncode
    assert image.read_text().endswith("the service's own\n")


def test_a_bundle_has_the_images_the_repository_and_the_python_packages(machine: Path) -> None:
    bundle = unpacked(machine)
    (machine.parent / "empty").mkdir()
    opened = run([bundle / "open"], machine.parent, "empty")
    assert not opened.returncode, opened.stderr
    assert "cd proscenium\n    make up" in opened.stdout
    images = {path.name for path in (machine.parent / "empty").iterdir()}
    assert images == {*IMAGES, "proscenium-backend", "proscenium-policyd"}
    room = machine.parent / "proscenium"
    assert {path.name for path in (room / ".run" / "wheels").iterdir()} == {
        "tests-requirements.lock.whl",
        "bin-lib-compose.lock.whl",
    }
    assert run(["git", "status", "-sb"], room).stdout == "## main\n"
    # pip asks no index in the room, and asks one here.
    offline = ". bin/lib/common.sh; echo ${PIP_NO_INDEX:-} ${PIP_FIND_LINKS:-}"
    asked: list[str | Path] = ["bash", "-c", offline]
    assert run(asked, room).stdout == f"1 {room}/.run/wheels\n"
    assert run(asked, machine).stdout == "\n"


@pytest.mark.parametrize(
    ("prepare", "complaint"),
    [
        ("touch backend/src/new.py", "Commit them"),
        (
            "printf '#!/bin/sh\\nexit 128\\n' >../bin/git; chmod +x ../bin/git",
            "git cannot tell what is committed here",
        ),
        ("git rev-parse HEAD >.git/shallow", "Type: git fetch --unshallow"),
    ],
)
def test_a_checkout_that_makes_no_bundle_is_refused(machine: Path, prepare: str, complaint: str) -> None:
    subprocess.run(prepare, shell=True, cwd=machine, check=True)
    done = run(["bin/bundle"], machine)
    assert done.returncode
    assert complaint in done.stderr
    assert not (machine / ".run").exists()


def test_a_bundle_that_does_not_fit_says_why_and_changes_nothing(machine: Path) -> None:
    bundle = unpacked(machine)
    cases = {
        "echo more >>images.tar.gz": "The bundle is damaged",
        "sed -i 1s/.*/pdp11/ made-for": "The images are for pdp11",
        "mkdir ../proscenium": "'proscenium' already exists",
        "mkdir ../bin && ln -s /bin/false ../bin/docker": "No container engine answers",
    }
    for number, (damage, message) in enumerate(cases.items()):
        folder = machine.parent / str(number)
        shutil.copytree(bundle, folder / "bundle")
        (folder / "engine").mkdir()
        subprocess.run(damage, shell=True, cwd=folder / "bundle", check=True)
        opened = run([folder / "bundle" / "open"], folder, f"{number}/engine")
        assert opened.returncode, damage
        assert message in opened.stderr
        assert not list((folder / "engine").iterdir())
        assert not (folder / "proscenium" / ".git").exists()

    # The tests' packages are for one version of Python; the stack does not need it.
    packed_for = (bundle / "made-for").read_text().split()[0]
    (bundle / "made-for").write_text(f"{packed_for}\n2.7\n")
    subprocess.run(["sed", "-i", "/made-for/d", "SHA256SUMS"], cwd=bundle, check=True)
    opened = run([bundle / "open"], machine.parent)
    assert not opened.returncode, opened.stderr
    assert "are for Python 2.7" in opened.stdout


def test_an_image_of_the_same_files_is_not_built_again(machine: Path) -> None:
    build = ["bash", "-c", ". bin/lib/common.sh; . bin/lib/build.sh; build_images"]
    assert run([*build], machine).stdout.count("Building") == 2
    # A second run builds nothing for this stack, nor for another one, which needs other names.
    assert run([*build], machine).stdout == ""
    other = [*build[:2], f"COMPOSE_PROJECT_NAME=other; {build[2]}"]
    assert run([*other], machine).stdout == ""
    assert (machine.parent / "engine" / "other-backend").exists()
    (machine / "backend" / "tests" / "test_more.py").touch()
    assert run([*build], machine).stdout == ""
    with (machine / "policyd" / "flashpolicy.xml").open("a") as policy:
        policy.write("<!-- changed -->\n")
    assert "Building the image for policyd" in run([*build], machine).stdout


LESSON = """\
./proscenium-*/open
cd proscenium
make up
make lesson LESSON=1
word=$(python3 -c 'import json; print(json.load(open(".run/proscenium/lessons/01.json"))["word"])')
for path in /media/fox.svg /media/fox.svg /admin/id /admin/id /slow /slow; do
    curl -fsS -o /dev/null "http://localhost:8080$path?$word"
    sleep 1.2 # nginx has its own copy for a second
done
letter=$(make check LESSON=1 | sed -n 's/^ *\\(.\\)) 43200 .*/\\1/p')
make check LESSON=1 ANSWER="$letter"
make check LESSON=all JSON=1 >"$HOME/results" || true
make test ONLY=static
make down
"""


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_room_without_a_network(tmp_path: Path) -> None:
    """The room gets only the archive: no index, no mirror, no registry; and its engine has no image."""
    checkout, room = tmp_path / "checkout", tmp_path / "room"
    subprocess.run(["git", "clone", "-q", REPO, checkout], check=True)
    (checkout / ".venv").symlink_to(REPO / ".venv")
    project = {**os.environ, "COMPOSE_PROJECT_NAME": f"{PROJECT}-bundle"}
    subprocess.run(["bin/bundle"], cwd=checkout, env=project, check=True, timeout=900)
    (room / "home").mkdir(parents=True)
    [archive] = (checkout / ".run").glob("proscenium-*.tar")
    subprocess.run(["tar", "-xf", archive, "-C", room / "home"], check=True)
    without = 'cd\n[ -z "$(ip route)" ]\n[ -z "$(docker images -q)" ]'
    inside: list[str | Path] = [REPO / "tests" / "room.sh", room, "bash", "-euxc", f"{without}\n{LESSON}"]
    try:
        done = subprocess.run(inside, capture_output=True, text=True, check=False, timeout=1500)
        assert not done.returncode, done.stdout + done.stderr
    finally:
        shutil.rmtree(room / "data", ignore_errors=True)
        for image in ("backend", "policyd"):
            subprocess.run(["docker", "rmi", f"{PROJECT}-bundle-{image}"], check=False)
    results = json.loads((room / "home" / "results").read_text())
    assert [result["state"] for result in results if result["lesson"] == 1] == ["done"]
