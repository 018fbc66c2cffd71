"""THEATRES without starting anything: the Compose files that `make up` writes, and mistakes in the list."""

from pathlib import Path

import yaml

from tests.bare import compose_file, engine, functions, run

FOLDER = ".run/proscenium/theatres"


def generated(bare: Path, **settings: str) -> dict[str, str]:
    """Return the Compose files that `make up` writes."""
    done = functions(bare, "write_theatres", **settings)
    assert done.returncode == 0, done.stderr
    return {file.name: file.read_text() for file in sorted((bare / FOLDER).glob("*"))}


def test_make_up_fills_a_file_for_each_theatre(bare: Path) -> None:
    for separated in ("second third", "second,third", " second,  third ", "second\tthird\n"):
        written = generated(bare, THEATRES=separated, THEATRES_SWF_PORT="9231")
        assert list(written) == ["01-second.yaml", "02-third.yaml"]
        for number, (name, text) in enumerate(zip(("second", "third"), written.values(), strict=True)):
            assert f":{9231 + number}:{7231 + number}" in text
            assert list(yaml.safe_load(text)["volumes"]) == [
                f"{name}-{of}" for of in ("data", "media", "sockets")
            ]
    assert list(generated(bare, THEATRES="second", EXTRAS="ring")) == [
        "01-second.ring.yaml",
        "01-second.yaml",
    ]
    assert generated(bare, THEATRES="") == {}


def test_later_commands_know_the_theatres_of_the_last_start(bare: Path) -> None:
    assert compose_file(bare, THEATRES="second third") == "compose.yaml"  # only `make up` writes the files
    assert generated(bare, THEATRES="second third", EXTRAS="inspect")
    written = f"{FOLDER}/01-second.yaml:{FOLDER}/02-third.yaml"
    assert compose_file(bare) == f"compose.yaml:{written}"
    assert compose_file(bare, EXTRAS="inspect") == f"compose.yaml:extras/inspect/compose.yaml:{written}"
    assert compose_file(bare, COMPOSE_PROJECT_NAME="other") == "compose.yaml"
    assert compose_file(bare, COMPOSE_FILE="mine.yaml") == "mine.yaml"
    (bare / "compose.override.yaml").touch()
    assert compose_file(bare) == f"compose.yaml:{written}:compose.override.yaml"  # the user's file comes last
    assert generated(bare) == {}
    assert compose_file(bare) == "compose.yaml:compose.override.yaml"


def test_theatres_need_their_files_in_the_users_compose_file(bare: Path) -> None:
    assert generated(bare, THEATRES="second", COMPOSE_FILE=f"compose.yaml:{FOLDER}/01-second.yaml")
    refused = functions(bare, "write_theatres", THEATRES="second", COMPOSE_FILE="compose.yaml")
    assert refused.stderr == f"THEATRES needs the file {FOLDER}/01-second.yaml: add it to COMPOSE_FILE\n"


def test_a_wrong_list_of_theatres_is_one_line(bare: Path) -> None:
    engine(bare, "*)")  # an engine that accepts every command
    done = run(bare, "up", user=None, MODE="containers", THEATRES="second Third")
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert "begins with a letter, not 'Third'" in line
