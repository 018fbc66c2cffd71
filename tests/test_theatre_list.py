"""THEATRES without starting anything: the Compose file that `make up` writes, and mistakes in the list."""

from pathlib import Path

import yaml

from tests.bare import compose_file, engine, functions, run


def generated(bare: Path, **settings: str) -> str:
    """The Compose file that `make up` writes; empty if there is none. Or what it complains about."""
    done = functions(bare, "write_theatres_file", **settings)
    file = bare / ".run" / settings.get("COMPOSE_PROJECT_NAME", "proscenium") / "theatres.yaml"
    return done.stderr or (file.read_text() if file.exists() else "")


def test_the_example_is_what_make_up_writes(bare: Path) -> None:
    example = (bare / "extras" / "theatres" / "example.yaml").read_text()
    for separated in ("second third", "second,third", " second,  third ", "second\tthird\n"):
        assert generated(bare, THEATRES=separated) == example
    moved = generated(bare, THEATRES="second third", THEATRES_SWF_PORT="9231", COMPOSE_PROJECT_NAME="other")
    assert moved == example.replace(":7231-7232:", ":9231-9232:")
    assert ':7231:7231"' in generated(bare, THEATRES="second")
    assert generated(bare, THEATRES="") == ""


def test_each_of_several_machines_runs_its_own_and_knows_the_others(bare: Path) -> None:
    """The second is on another machine, at ports in the order of the list; the third is on the first one."""
    addresses = {"FIRST_MACHINE": "127.0.0.1", "OTHER_MACHINES": "127.0.0.2"}
    settings = {"EXTRAS": "edge", "THEATRES": "third second@127.0.0.2", **addresses}
    first, other = (
        yaml.safe_load(generated(bare, **settings, MACHINE=machine)) for machine in addresses.values()
    )
    assert list(first["services"]) == ["third", "varnish", "nginx", "backend", "locust"]
    assert list(other["services"]) == ["second", "varnish", "nginx"]
    asked = first["services"]["nginx"]["environment"]
    assert asked["THEATRES_ADDRESS"] == "unix:/run/proscenium/*/upstage.sock 127.0.0.2:18102"
    assert asked["THEATRES_STAGE_ADDRESS"] == "unix:/run/proscenium/*/upstage-stage.sock 127.0.0.2:17232"
    assert asked["THEATRES_METRICS_ADDRESS"] == "*:9110 127.0.0.2:19112"
    assert [port.rpartition("}:")[2] for port in other["services"]["second"]["ports"]] == [
        "18102:8081",
        "17232:7230",
        "19112:9110",
    ]
    asked = other["services"]["varnish"]["environment"]["THEATRES_ADDRESS"]
    assert asked == "127.0.0.1:18101 unix:/run/proscenium/*/upstage.sock"
    assert len(first["volumes"]) == len(other["volumes"]) == 3


def test_later_commands_know_the_theatres_of_the_last_start(bare: Path) -> None:
    assert compose_file(bare, THEATRES="second third") == "compose.yaml"  # only `make up` writes the file
    assert generated(bare, THEATRES="second third", EXTRAS="inspect")
    written = ".run/proscenium/theatres.yaml"
    assert compose_file(bare) == f"compose.yaml:{written}"
    assert compose_file(bare, EXTRAS="inspect") == f"compose.yaml:extras/inspect/compose.yaml:{written}"
    assert compose_file(bare, COMPOSE_PROJECT_NAME="other") == "compose.yaml"
    assert compose_file(bare, COMPOSE_FILE="mine.yaml") == "mine.yaml"
    (bare / "compose.override.yaml").touch()
    assert compose_file(bare) == f"compose.yaml:{written}:compose.override.yaml"  # the user's file comes last
    assert generated(bare) == ""
    assert compose_file(bare) == "compose.yaml:compose.override.yaml"


def test_theatres_need_their_file_in_the_users_compose_file(bare: Path) -> None:
    files = "compose.yaml:.run/proscenium/theatres.yaml"
    assert generated(bare, THEATRES="second", COMPOSE_FILE=files)
    assert generated(bare, THEATRES="second", COMPOSE_FILE="compose.yaml") == (
        "THEATRES needs the file .run/proscenium/theatres.yaml: add it to COMPOSE_FILE\n"
    )


def test_a_wrong_list_of_theatres_is_one_line(bare: Path) -> None:
    engine(bare, "*)")  # it accepts every command
    done = run(bare, "up", user=None, MODE="containers", THEATRES="second Third")
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert "begins with a letter, not 'Third'" in line
