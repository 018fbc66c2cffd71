"""The plan of a class, its state, its handout, and the results of its learners: without containers."""

import csv
import json
import os
import re
import socket
import stat
import sys
from collections.abc import Callable
from functools import partial
from ipaddress import IPv4Network
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from lessons.checking.lesson import lessons
from lessons.classroom import plan
from lessons.classroom.__main__ import show
from lessons.classroom.checkout import checks_sum, environment, override
from lessons.classroom.class_state import ClassState, Entry
from lessons.classroom.engine import Usage
from lessons.classroom.handout import write_handout
from lessons.classroom.plan import Plan, PlanError
from lessons.classroom.results import LETTERS, MOST, Result, parse_result, results
from lessons.classroom.status import State, as_csv, as_json, as_table, health
from lessons.tests.fake_class import new_class
from tests.stack import REPO

PLAN = Plan("x")


def test_no_two_copies_share_a_port() -> None:
    taken: set[int] = set()
    for number in range(1, plan.MOST + 1):
        settings = PLAN.copy(number).port_settings
        first, last = map(int, settings.pop("FTP_PASSIVE_PORTS").split("-"))
        mine = {int(port) for port in settings.values()} | set(range(first, last + 1))
        assert len(mine) == len(settings) + last + 1 - first
        assert not mine & taken
        assert max(mine) < 32768  # the kernel gives higher ones to outgoing connections
        taken |= mine


def test_every_published_port_of_the_project_is_set() -> None:
    ports = set(re.findall(r"^(\w+_PORTS?)=", (REPO / ".env.example").read_text(), re.M))
    assert PLAN.copy(1).port_settings.keys() == ports - {"CLASS_PORTS", "CLASS_PAGE_PORT"}


def test_no_two_networks_overlap_and_all_are_in_the_range() -> None:
    subnets = [subnet for number in range(1, plan.MOST + 1) for subnet in PLAN.copy(number).subnets.values()]
    assert len(subnets) == 3 * plan.MOST
    assert all(subnet.subnet_of(PLAN.subnets) for subnet in subnets)
    assert not any(one.overlaps(other) for one, other in combinations(subnets, 2))


def test_a_copy_without_addresses_or_ports_is_an_error() -> None:
    small = Plan("x", subnets=IPv4Network("192.168.99.0/24"))
    assert len(small.copy(1).subnets) == 3
    with pytest.raises(PlanError, match="no addresses left for copy 2"):
        small.copy(2)
    with pytest.raises(PlanError, match="above 65535"):
        Plan("x", ports=65000).copy(5)


@pytest.mark.parametrize(
    ("parse", "texts", "named"),
    [
        (partial(plan.parse_number, "N"), ("", "x", "0", "-1", "100", "1.5", "²"), "N is"),
        (partial(plan.parse_number, "PORT", most=65535), ("65536",), "PORT is"),
        (plan.parse_ports, ("20050",), "CLASS_PORTS"),
        (plan.parse_subnets, ("10.0.0.1/18",), "CLASS_SUBNETS"),
        (plan.parse_cpus, ("nan", "0", "x", "1000"), "CLASS_CPUS"),
    ],
)
def test_a_wrong_number_and_a_wrong_setting_are_errors(
    parse: Callable[[str], object], texts: tuple[str, ...], named: str
) -> None:
    for text in texts:
        with pytest.raises(PlanError, match=named):
            parse(text)


ROUTES = """Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0
tun0\t0000D50A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
"""


def test_a_route_into_the_range_is_found_and_the_default_route_is_none() -> None:
    routes = plan.parse_routes(ROUTES)
    assert routes == [IPv4Network("0.0.0.0/0"), IPv4Network("10.213.0.0/16")]
    copy = PLAN.copy(1)
    assert {route for _, route in plan.overlapping([copy], routes)} == {routes[1]}
    assert not list(plan.overlapping([copy], routes[:1]))


def test_the_state_of_a_class_is_kept(tmp_path: Path) -> None:
    opened = new_class(tmp_path / "class", CLASS_PORTS="30000", CLASS_CPUS="1", BIND_ADDR="0.0.0.0")
    assert (opened.plan.ports, opened.plan.cpus, opened.plan.subnets) == (30000, 1, PLAN.subnets)
    opened.save()
    assert ClassState.load(tmp_path / "class", {"CLASS_PORTS": "30000"}) == opened
    assert ClassState.load(tmp_path / "none", {}) is None


def test_a_running_class_cannot_get_other_settings(tmp_path: Path) -> None:
    new_class(tmp_path).save()
    with pytest.raises(PlanError, match=r"opened with CLASS_SUBNETS=10\.213\.0\.0/18"):
        ClassState.load(tmp_path, {"CLASS_SUBNETS": "10.0.0.0/18"})


def test_passwords_differ_and_can_be_read_off_paper() -> None:
    passwords = {word for _ in range(50) for word in (Entry().admin, Entry().locust)}
    assert len(passwords) == 100
    assert not set("".join(passwords)) & set("0O1lI")


def test_a_copy_gets_its_own_settings_and_the_teachers_choices(tmp_path: Path) -> None:
    given = {"BIND_ADDR": "0.0.0.0", "NGINX_IMAGE": "n:1"}
    opened = new_class(tmp_path, **given, HTTP_PORT="8080")
    settings = opened.environment_of(PLAN.copy(2))
    assert settings["COMPOSE_PROJECT_NAME"] == "x-class-02"
    assert settings["UPSTAGE_ADMIN_PASSWORD"] == "secret"
    assert settings.items() >= given.items() | {("COMPARISON_NAMES", "on")}  # lessons need them
    off = new_class(tmp_path, COMPARISON_NAMES="off")
    assert off.environment_of(PLAN.copy(2))["COMPARISON_NAMES"] == "off"
    assert settings["HTTP_PORT"] == "20280"


def test_the_teachers_settings_do_not_reach_a_copys_commands() -> None:
    kept = {"PATH": "/bin", "HTTP_PROXY": "p"}
    given = {"HTTP_PORT": "8080", "COMPOSE_FILE": "x", "THEATRES": "second", **kept}
    assert environment(given) == {**kept, "MODE": "containers"}


def test_every_service_and_network_of_a_copy_has_its_limits() -> None:
    text = override(PLAN.copy(1))
    assert text.count("cpus: 0.5") == 5
    assert text.count("subnet: 10.213.0.") == 3


def test_the_status_lists_what_is_done_and_what_is_begun() -> None:
    lessons_of = [Result(1, "done"), Result(2, "done"), Result(3, "begun"), Result(4)]
    state = State(7, "healthy", 145, 0.3, lessons_of, "02.json cannot be read")
    copy, total = as_table([state, State(8, "down", 0, 0, [Result(1)])]).splitlines()[1::2]
    number, shown = len(lessons()), "1,2 (3 begun)"
    expected = f"   7    145 MiB   0.3 %    2/{number:<3}  {shown:24}  healthy; 02.json cannot be read"
    assert copy == expected
    assert total == "all     145 MiB   0.3 %"
    [as_data] = json.loads(as_json([state]))
    assert as_data["lessons"][2]["state"] == "begun"


def test_a_gradebook_gets_a_line_for_each_copy_and_lesson_without_a_learners_words() -> None:
    done = Result(2, "done", 2, 1, began=1795390874.2, done=1795391251.8, said="=HYPERLINK()")
    text = as_csv([State(7, "healthy", 145, 0.3, [Result(1), done]), State(8, "down", 0, 0, [Result(1)])])
    assert "HYPERLINK" not in text
    first, second, third = csv.DictReader(text.splitlines())
    assert [row["copy"] for row in (first, second, third)] == ["7", "7", "8"]
    assert (first["state"], first["began"], first["done"]) == ("", "", "")
    assert (second["lesson"], second["title"], second["state"]) == ("2", "How long is fresh?", "done")
    assert (second["answers"], second["attempts"]) == ("1", "2")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", second["done"])
    assert second["began"] < second["done"]


def test_a_reader_that_has_seen_enough_ends_the_status_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", pipe)
        assert show("copy\n" * 9999) == 0


def test_the_sum_notices_a_changed_check_and_nothing_else(tmp_path: Path) -> None:
    checks = ("lessons/01-first-hit/check.py", "logs/varnishlog.py", "bin/lesson")
    for name in ("lessons/checking/judging.py", "varnish/media.vcl", *checks):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    before = checks_sum(tmp_path)
    (tmp_path / "varnish/media.vcl").write_text("2")
    assert checks_sum(tmp_path) == before
    for name in checks:
        (tmp_path / name).write_text("2")
        assert checks_sum(tmp_path) != before, name
        (tmp_path / name).write_text("1")
    (tmp_path / "lessons/checking/more.py").write_text("1")
    assert checks_sum(tmp_path) != before


def test_health_names_what_is_not_healthy() -> None:
    others = dict.fromkeys(("nginx", "varnish", "backend", "policyd"), "healthy")
    services = others | {"locust": "healthy"}
    assert health(Usage(services)) == "healthy"
    assert health(Usage(services | {"backend": "exited"})) == "backend exited"
    assert health(Usage(others)) == "locust missing"
    assert health(Usage()) == "down"


# --- The handout: a row for each copy, and what its learner types.


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
    assert commands == [f"ssh {tunnels} server", f"cd {tmp_path}/02", "make learn"]
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
    new_class(tmp_path).save()
    for file in tmp_path.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


# --- What the files in which a learner's results are kept say.


DONE = {"began": 5.0, "done": 9.0, "answers": 1, "attempts": 2}
BEST = {"began": 1.0, "done": 2.0, "answers": 3}


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        (DONE, Result(1, "done", 2, 1, 5, 9)),
        ({"word": "k", "began": 5, "answers": 0, "done": 0}, Result(1, "begun", began=5)),  # the older form
        ({}, Result(1, "begun")),
        (DONE | {"done": 4}, Result(1, "begun", 2, 1, 5)),  # done before it began
        (DONE | {"answers": 0}, Result(1, "begun", 2, 0, 5)),
        (DONE | {"best": None, "said": None}, Result(1, "done", 2, 1, 5, 9)),
        ({"began": 7, "attempts": 3, "best": BEST, "said": "No."}, Result(1, "done", 3, 3, 1, 2, 7, "No.")),
        (DONE | {"best": BEST}, Result(1, "done", 2, 1, 5, 9)),
        ({"began": 7, "best": BEST | {"done": 0.5}}, Result(1, "begun", began=7)),
    ],
)
def test_a_lesson_is_done_if_the_newest_attempt_or_an_earlier_one_was(
    kept: dict[str, Any], expected: Result
) -> None:
    assert parse_result(1, kept) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("{", "[]", "3", "null", "[" * 50_000, "\xff", '{"said": "' + "x" * MOST + '"}'),
        *('{"began": "now"}', '{"began": -1}', '{"began": NaN}', '{"began": 1e999}'),
        *('{"said": ["x"]}', '{"best": [1]}', '{"best": {"done": "x"}}'),
        '{"began": 1, "done": 1' + "0" * 400 + "}",
    ],
    ids=lambda text: text[:20],
)
def test_a_file_that_holds_no_attempt_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "01.json").write_text(text, encoding="latin-1")
    found, damaged = results(tmp_path)
    assert damaged == ["01.json"]
    assert found[0] == Result(1)


def test_all_lessons_are_listed(tmp_path: Path) -> None:
    (tmp_path / "02.json").write_text(json.dumps(DONE | {"said": "s" * 999}))
    found, damaged = results(tmp_path)
    assert damaged == []
    assert [result.lesson for result in found] == [lesson.number for lesson in lessons()]
    assert [result.lesson for result in found if result.state] == [2]
    assert found[1].said == "s" * LETTERS
    assert {result.state for result in results(tmp_path / "none")[0]} == {""}


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "01.json")
    (tmp_path / "02.json").mkdir()
    (tmp_path / "other").write_text(json.dumps(DONE))
    (tmp_path / "03.json").symlink_to(tmp_path / "other")
    (tmp_path / "04.json").symlink_to("/dev/zero")
    assert results(tmp_path)[1] == ["01.json", "02.json", "03.json", "04.json"]
