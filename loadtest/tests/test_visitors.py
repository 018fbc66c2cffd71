"""Each kind of visitor against the tiny front and its tiny stage, in real Locust processes."""

import re
from pathlib import Path

import pytest

from test_locust import eventually, failed, run
from test_locust import restless as restless
from tiny_front import Front
from tiny_stage import lines


def test_the_audience_joins_with_its_key_and_leaves(front: Front) -> None:
    result = run(front, "-u1", "--chat-rate=0", until={"stage join": 1})
    assert result.code == 0, result.output
    assert [mode for mode, _ in front.stage.said] == ["IDENT", "JOIN", "LOADED"]
    assert front.stage.said[0][1] == {"MD5": "0123"}
    assert front.stage.said[1][1] == {"stage_ID": "demo"}
    eventually(lambda: front.stage.lost == 1)
    assert front.hosts == {"upstage.localhost"}


def test_the_web_audience_does_the_same_over_its_own_door(front: Front) -> None:
    result = run(
        front,
        "-u3",
        until={"ws join": 3, "ws chat": 4, "ws heard": 4},
        users="WebAudience",
        LOADTEST_CHAT_RATE="120",
        LOADTEST_TOPOLOGY="classic.localhost",
    )
    assert result.code == 0, result.output
    assert "stage join" not in result.requests
    assert front.hosts == {"classic.localhost"}


def test_topology_and_stage_can_be_chosen(front: Front) -> None:
    front.answers["/stages/other"] = front.answers["/stages/demo"]
    options = ("--stage", "other", "--topology", "static.localhost")
    result = run(front, "-u1", *options, until={"stage join": 1})
    assert result.code == 0, result.output
    assert front.hosts == {"static.localhost"}
    assert front.stage.said[1] == ("JOIN", {"stage_ID": "other"})


def test_lines_come_back_and_are_heard_by_all_others(front: Front) -> None:
    options = ("--audience=stays", "--chat-rate=120")
    result = run(front, *options, until={"stage join": 5, "stage chat": 30})
    assert result.code == 0, result.output
    said = lines(front.stage)
    # Nothing that only a machine can read.
    assert not any(re.search(r"[\d_-]", line) for line in said)
    # By four others; those who had not yet come, or were stopped, have missed some.
    assert len(said) < result.requests["stage heard"] <= 4 * len(said)


def test_a_thousand_ears_are_not_all_pricked_up(front: Front) -> None:
    # Everybody's own lines come back all the same.
    until = {"stage join": 40, "stage chat": 60}
    result = run(front, "-u40", "-r40", "--audience=stays", "--chat-rate=30", until=until)
    assert result.code == 0, result.output
    # Twenty listen closely, not 39.
    assert result.requests["stage heard"] <= 20 * len(lines(front.stage))


def test_the_audience_applauds_when_it_can(front: Front) -> None:
    front.stage.applause = True
    run(front, "--audience=stays", "--chat-rate=600", until={"stage chat": 30})
    assert front.stage.heard["PLAY_APPLAUSE"] > 3
    front.stage.applause = False
    front.stage.heard.clear()
    run(front, "--audience=stays", "--chat-rate=600", until={"stage chat": 30})
    assert front.stage.heard["PLAY_APPLAUSE"] == 0


@pytest.mark.parametrize(("users", "kind"), [("Audience", "stage"), ("WebAudience", "ws")])
def test_reload_brings_everybody_back(front: Front, restless: str, users: str, kind: str) -> None:
    result = run(front, "-u2", code=restless, users=users, until={f"{kind} join": 8})
    assert result.code == 0, result.output
    eventually(lambda: abs(front.stage.lost - front.stage.heard["JOIN"]) <= 2)


def test_a_closed_stage_door_fails_the_run(front: Front) -> None:
    result = run(front, "-u1", "--stage-port=1", until={"stage connect": 1})
    assert result.code == 1
    assert "stage connect: LineError('connection refused')" in result.output
    assert failed(result) == {"stage connect"}


@pytest.mark.parametrize(("users", "kind"), [("Audience", "stage"), ("WebAudience", "ws")])
def test_a_stage_that_refuses_fails_the_run(front: Front, users: str, kind: str) -> None:
    front.stage.full = True
    result = run(front, "-u1", users=users, until={f"{kind} join": 1})
    assert result.code == 1
    assert "the server refused the seat: no such stage" in result.output
    assert failed(result) == {f"{kind} join"}


@pytest.mark.parametrize(("mode", "row"), [("JOIN", "join"), ("LOADED", "join"), ("TEXT", "stay")])
def test_a_cut_line_fails_the_run_with_its_reason(front: Front, mode: str, row: str) -> None:
    front.stage.cut_at = mode
    result = run(front, "-u1", "--chat-rate=600", "--audience=stays", until={f"stage {row}": 1})
    assert result.code == 1
    assert f"stage {row}: LineError('closed by the server in mid-frame')" in result.output
    assert result.failures[f"stage {row}"] >= 1
    assert "Traceback" not in result.output


def test_a_stage_that_loses_every_tenth_frame_fails_the_run(front: Front) -> None:
    front.stage.drop_every = 10
    result = run(front, "--audience=stays", "--chat-rate=300", until={"stage heard": 200})
    assert result.code == 1
    assert "a line before this one was lost, or came twice" in result.output


def test_a_line_that_does_not_come_back_fails_the_run(front: Front, tmp_path: Path) -> None:
    front.stage.forgets = "ANONTEXT"
    path = tmp_path / "impatient.py"
    path.write_text("from locustfile import *\nfrom visitors import seat\nseat.PATIENCE = 1.0\n")
    options = ("--audience=stays", "--chat-rate=120")
    result = run(front, "-u1", *options, code=str(path), until={"stage chat": 1})
    assert result.code == 1
    assert "did not come back within 1 s" in result.output


def test_a_slow_stage_is_seen_in_the_figures(front: Front) -> None:
    front.stage.delay = 0.3
    until = {"stage join": 2, "stage chat": 3, "stage heard": 2}
    result = run(front, "-u2", "--audience=stays", "--chat-rate=60", until=until)
    assert result.code == 0, result.output
    assert result.averages["stage chat"] >= 300
    assert result.averages["stage join"] >= 900
    assert result.averages["stage heard"] >= 300
    assert result.averages["stage connect"] < result.averages["stage join"] / 2


def test_flash_asks_before_it_connects(front: Front) -> None:
    result = run(front, "-u2", users="FlashClient", until={"stage join": 2})
    assert result.code == 0, result.output
    assert result.requests["policy policy"] == result.requests["stage join"] == 2
    assert front.stage.said[0] == ("IDENT", {"MD5": "undefined"})


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (b"<cross-domain-policy/>\0", "the policy does not let upstage.localhost connect to port 7230"),
        (b"<html></html>\0", "the policy is XML of another kind"),
        (b"no\0", "the policy is not XML"),
        (b"<cross-domain-policy/>", "closed by the server in mid-frame"),
        (b"", "closed by the server"),
    ],
)
def test_flash_stays_out_without_a_good_policy(front: Front, policy: bytes, reason: str) -> None:
    front.stage.policy = policy
    result = run(front, "-u1", users="FlashClient", until={"policy policy": 1})
    assert result.code == 1
    assert f"policy policy: LineError('{reason}')" in result.output
    assert front.stage.heard["JOIN"] == 0


def test_a_reader_asks_only_for_files(front: Front) -> None:
    result = run(front, "-u4", users="Reader", until={"/stages/demo": 4, "/script/*.js": 4})
    assert result.code == 0, result.output
    assert front.asked["/stages/demo"] == 4
    assert front.asked["/admin/id"] == 0
    assert sum(front.revalidated.values()) == 0
    assert front.stage.heard["JOIN"] == 0


def test_a_player_signs_in_takes_what_is_free_and_plays(front: Front) -> None:
    result = run(
        front,
        "-u1",
        users="Player",
        until={f"stage {row}": 1 for row in ("avatar", "move", "chat", "draw")},
        LOADTEST_PLAYER="ann",
        LOADTEST_PASSWORD="sesame",
    )
    assert result.code == 0, result.output
    assert front.asked["/admin/login"] == 1
    assert front.stage.said[0] == ("IDENT", {"MD5": "4567"})
    assert ("AV", {"ID": "2"}) in front.stage.said
    assert front.stage.heard["AV"] == 1
    # It leaves the stage as it was.
    eventually(lambda: [mode for mode, _ in front.stage.said[-2:]] == ["DRAW_CLEAR", "MOVE"])
    assert front.stage.said[-1][1] == {"X": "44.0", "Y": "176.0"}
    # The stage takes 60 frames a second, 300 at once.
    assert 20 < sum(front.stage.heard.values()) < 300


def test_no_player_without_an_account_and_it_is_said_once(front: Front) -> None:
    result = run(front, "-u3", "-r3", users="Player Audience", until={"stage join": 3})
    # Its place is another's: three came, not two.
    assert '{"Audience": 3, "Player": 0} (3 total users)' in result.output
    assert result.code == 0, result.output
    assert result.output.count("No Player in this run") == 1
    assert front.asked["/admin/login"] == 0
    assert "Traceback" not in result.output


def test_a_wrong_password_fails_the_run_and_is_tried_once(front: Front, restless: str) -> None:
    options = ("-u1", "--player=ann", "--password=guess")
    result = run(front, *options, code=restless, users="Player", until={"/admin/login": 1}, linger=2)
    assert result.code == 1
    assert "/admin/login: status 401" in result.output
    assert front.asked["/admin/login"] == 1
    assert front.stage.heard["JOIN"] == 0


def test_a_player_who_is_taken_for_somebody_else_fails_the_run(front: Front) -> None:
    front.signed_in_as = "nice visitor"
    options = ("-u1", "--player=ann", "--password=sesame")
    result = run(front, *options, users="Player", until={"/admin/id": 1})
    assert result.code == 1
    assert "the identity is not this player" in result.output
    assert front.stage.heard["JOIN"] == 0


@pytest.mark.parametrize("fate", ["cut", "deaf"])
def test_a_slow_reader_is_no_failure_and_harms_nobody(front: Front, fate: str) -> None:
    if fate == "cut":
        front.stage.cut_at = "INFO"
    else:
        front.stage.deaf = True
    result = run(front, "-u2", "-r2", users="SlowReader", until={"stage connect": 4})
    assert result.code == 0, result.output
    assert set(result.requests) == {"stage connect"}
    assert front.stage.heard["JOIN"] >= 2
    assert front.stage.heard["LOADED"] == 0


SHORT_VISITS = """
from locust import constant
from locustfile import *
from visitors import seat

seat.ATTENTIVE = 2
Audience.wait_time = constant(0.1)
Audience.patience = lambda self: 0.5
"""


def test_who_leaves_makes_room_for_another_attentive_ear(front: Front, tmp_path: Path) -> None:
    path = tmp_path / "short.py"
    path.write_text(SHORT_VISITS)
    # Two of five listen at any time. The first two alone would hear some ten lines in half a second.
    result = run(front, code=str(path), until={"stage join": 20, "stage heard": 60}, LOADTEST_CHAT_RATE="120")
    assert result.code == 0, result.output
