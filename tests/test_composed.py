"""What Compose makes of its files, as shell functions read it; the engine is simulated."""

import json
from pathlib import Path

import pytest

from tests.bare import engine, functions


def test_every_value_of_the_compose_files_is_a_line_with_its_path(bare: Path) -> None:
    services = {
        'odd "name"': {
            "image": "a\\b:1",
            "command": ["sh", "-c", 'echo "x": {} $$HOME>&1'],
            "build": {"args": {"A": "x,"}},
        },
        "next": {"entrypoint": None, "init": True, "deploy": {}, "ports": [{"target": 80}, {"target": 81}]},
    }
    (bare / "config.json").write_text(
        json.dumps({"services": services}, indent=2).replace(">", r"\u003e").replace("&", r"\u0026")
    )
    engine(bare, "'compose config --format json') cat config.json")
    assert [line.split("\t") for line in functions(bare, "composed").stdout.splitlines()] == [
        ["services", 'odd "name"', "image", "a\\b:1"],
        ["services", 'odd "name"', "command", "-", "sh"],
        ["services", 'odd "name"', "command", "-", "-c"],
        ["services", 'odd "name"', "command", "-", 'echo "x": {} $HOME>&1'],
        ["services", 'odd "name"', "build", "args", "A", "x,"],
        ["services", "next", "entrypoint", "null"],
        ["services", "next", "init", "true"],
        ["services", "next", "deploy", "{}"],
        ["services", "next", "ports", "-", "target", "80"],
        ["services", "next", "ports", "-", "target", "81"],
    ]


SOCKETS = {"name": "x_sockets", "driver_opts": {"o": "uid=1000,size=1m", "type": "tmpfs"}}
FOREIGN = {"name": "foreign", "external": True}
VOLUMES = json.dumps(
    {"volumes": {"data": {"name": "x_data"}, "sockets": SOCKETS, "other": FOREIGN}}, indent=2
)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("o=uid=1000,size=1m type=tmpfs ", ""),
        ("o=size=2m type=tmpfs ", "Making x_sockets anew"),
        (
            "device=/srv o=bind type=none ",
            "The volume x_sockets has data, and was made as 'device=/srv o=bind",
        ),
    ],
)
def test_a_volume_of_another_version_is_made_anew_if_it_holds_nothing(
    bare: Path, options: str, said: str
) -> None:
    log = engine(
        bare,
        f"'compose config --format json') printf '%s' '{VOLUMES}'",
        f"'volume inspect'*x_sockets) echo '{options}'",
        "'volume inspect'*) echo",
        "'volume rm'*|'compose down'*)",
    )
    done = functions(bare, "renew_volumes")
    assert said in done.stdout + done.stderr
    assert ("volume rm x_sockets" in log.read_text()) == ("anew" in said)
    assert done.returncode == (1 if "has data" in said else 0)
