"""The handout: a row for each copy, and what its learner types."""

import csv
import re
import socket
import stat
from pathlib import Path

import pytest

from classroom.handout import write_handout
from fake_class import new_class


def write(folder: Path, **settings: str) -> tuple[str, list[dict[str, str]]]:
    """The handout of the copies 1 and 2, as text and as the rows of its CSV."""
    write_handout(new_class(folder, **settings))
    return (folder / "handout.md").read_text(), list(csv.DictReader((folder / "handout.csv").open()))


def slip(text: str, number: str) -> str:
    """The part of one learner."""
    return text.partition(f"## Copy {number}\n")[2].partition("\n## ")[0]


def test_the_table_has_a_row_for_each_copy(tmp_path: Path) -> None:
    text, rows = write(tmp_path, BIND_ADDR="0.0.0.0", SERVER_NAMES="class.example 192.0.2.7")
    assert [row["number"] for row in rows] == ["01", "02"]
    assert rows[1]["stack"] == "http://class.example:20280/"
    assert rows[1]["admin password"] == "secret"
    urls = ["http://class.example:20280/", "https://class.example:20243/"]
    assert text.splitlines()[3].split(" | ")[2:5] == [*urls, "secret"]


def test_a_learner_gets_the_tunnel_the_commands_the_pages_and_no_other_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "server")
    text, rows = write(tmp_path)
    commands = re.findall(r"^    (.*)", slip(text, "02"), re.M)
    tunnels = " ".join(f"-L {port}:localhost:{port}" for port in (20280, 20243, 20289, 20290))
    assert commands == [
        f"ssh {tunnels} server",
        f"cd {tmp_path}/02",
        "make learn",
    ]
    assert "<http://localhost:20280/lessons/>" in slip(text, "02")
    assert "`secret`" in slip(text, "02")
    assert "`secret`" not in slip(text, "01")
    assert rows[1]["ssh"] == commands[0]
    assert rows[1]["lessons"] == "http://localhost:20280/lessons/"


@pytest.mark.parametrize(
    ("address", "target"), [("0.0.0.0", "localhost"), ("127.0.0.1", "localhost"), ("192.0.2.7", "192.0.2.7")]
)
def test_a_tunnel_leads_to_an_address_on_which_the_copy_listens(
    tmp_path: Path, address: str, target: str
) -> None:
    _, rows = write(tmp_path, BIND_ADDR=address, SERVER_NAMES="class.example")
    assert rows[0]["ssh"].startswith(f"ssh -L 20180:{target}:20180 ")
    assert rows[0]["ssh"].endswith(" -L 20190:localhost:20190 class.example")


def test_without_a_tunnel_a_copy_on_127_0_0_1_has_no_other_name(tmp_path: Path) -> None:
    _, rows = write(tmp_path, SERVER_NAMES="192.0.2.7")
    assert rows[0]["stack"] == "http://localhost:20180/"
    assert rows[0]["ssh"].endswith(" 192.0.2.7")


def test_only_its_owner_reads_the_passwords(tmp_path: Path) -> None:
    write(tmp_path)
    for file in tmp_path.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
