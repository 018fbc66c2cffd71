"""Each class of users on a stage that is healthy or shows one fault; Locust runs in this process."""

from typing import Any

import pytest
from locust import User, constant
from locust.exception import StopUser

from loadtest.tests.fake_site import FakeSite
from loadtest.tests.locust_library import alone, eager, reasons, run, until
from locustfile import Audience, FlashClient, Player, SlowReader, WebAudience
from users import session
from users.player_session import PlayerSession

STAYS = "--audience=stays"


def test_the_audience_joins_with_its_key_and_leaves(site: FakeSite) -> None:
    result = run(site, Audience, users=1, arguments=("--chat-rate=0",), until_rows={"stage join": 1})
    assert not result.failed
    assert site.stage.received == [("IDENT", {"MD5": "0123"}), ("JOIN", {"stage_ID": "demo"}), ("LOADED", {})]
    until(lambda: site.stage.closed == 1)


def test_only_some_sessions_measure_but_all_lines_come_back(
    site: FakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "MEASURING", 2)
    monkeypatch.setattr(session, "INTERVAL", 2.0)  # seconds, in which each of the others reads once
    site.stage.latency = 0.1  # the others often wait for a line of their own
    rows = {"stage join": 8, "stage chat": 40}
    result = run(site, Audience, users=8, arguments=(STAYS, "--chat-rate=120"), until_rows=rows)
    assert not result.failed
    # Two sessions measure, not seven.
    assert 0 < result.requests["stage heard"] <= 2 * len(site.stage.lines)
    assert not session.measuring, "others may measure in the next run"


@pytest.mark.parametrize("offered", [True, False])
def test_the_audience_applauds_if_the_stage_offers_it(site: FakeSite, offered: bool) -> None:
    site.stage.applause = offered
    run(site, Audience, arguments=(STAYS, "--chat-rate=600"), until_rows={"stage chat": 20})
    assert (site.stage.modes["PLAY_APPLAUSE"] > 3) is offered


@pytest.mark.parametrize(("user", "kind"), [(Audience, "stage"), (WebAudience, "ws")])
def test_a_reload_closes_the_connection_and_joins_again(site: FakeSite, user: type[User], kind: str) -> None:
    assert not run(site, eager(user), users=2, until_rows={f"{kind} join": 8}).failed
    until(lambda: abs(site.stage.closed - site.stage.modes["JOIN"]) <= 2)


def test_a_visit_ends_when_the_stage_asks_for_a_reload(site: FakeSite) -> None:
    site.stage.reloads = True
    restless = type("Audience", (Audience,), {"wait_time": constant(0.05)})
    arguments = (STAYS, "--chat-rate=600")
    assert not run(site, restless, users=1, arguments=arguments, until_rows={"stage join": 4}).failed


@pytest.mark.parametrize(
    ("fault", "option", "row", "reason"),
    [
        ({}, "--stage-port=1", "stage connect", "connection refused"),
        ({"rejects": True}, STAYS, "stage join", "the server rejected --stage=demo: no such stage"),
        ({"cut_at": "JOIN"}, STAYS, "stage join", "closed by the server in mid-frame"),
        ({"cut_at": "TEXT"}, STAYS, "stage stay", "closed by the server in mid-frame"),
    ],
)
def test_a_fault_of_the_stage_is_a_failed_sample_with_its_reason(
    site: FakeSite, fault: dict[str, Any], option: str, row: str, reason: str
) -> None:
    vars(site.stage).update(fault)
    result = run(site, Audience, users=1, arguments=("--chat-rate=600", option), until_rows={row: 1})
    assert result.reasons == [f"{row}: {reason}"]


def test_a_chat_line_that_does_not_come_back_fails(site: FakeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "PATIENCE", 0.5)
    site.stage.drop_mode = "ANONTEXT"
    arguments = (STAYS, "--chat-rate=120")
    result = run(site, Audience, users=1, arguments=arguments, until_rows={"stage chat": 1})
    assert result.reasons == ["stage chat: did not come back within 0.5 s"]


def test_flash_fetches_the_policy_before_it_connects(site: FakeSite) -> None:
    result = run(site, FlashClient, users=2, until_rows={"stage join": 2})
    assert not result.failed
    assert result.requests["policy policy"] == result.requests["stage join"] == 2
    assert site.stage.received[0] == ("IDENT", {"MD5": "undefined"})


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (b"<cross-domain-policy/>\0", "the policy does not allow upstage.localhost to connect to port 7230"),
        (b"", "closed by the server"),
    ],
)
def test_flash_does_not_join_without_a_good_policy(site: FakeSite, policy: bytes, reason: str) -> None:
    site.stage.policy = policy
    result = run(site, FlashClient, users=1, until_rows={"policy policy": 1})
    assert result.reasons == [f"policy policy: {reason}"]
    assert not site.stage.modes["JOIN"]


def test_a_player_signs_in_takes_a_free_avatar_and_performs(
    site: FakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOADTEST_PLAYER", "ann")
    monkeypatch.setenv("LOADTEST_PASSWORD", "sesame")
    site.stage.latency = 0.03
    at_leisure = PlayerSession.actions
    monkeypatch.setattr(PlayerSession, "actions", lambda self: (pause / 4 for pause in at_leisure(self)))
    rows = {f"stage {row}": 1 for row in ("avatar", "move", "chat", "draw")}
    assert not run(site, Player, users=1, until_rows=rows).failed
    assert site.asked["/admin/login"] == 1
    assert site.stage.received[0] == ("IDENT", {"MD5": "4567"})
    assert ("AV", {"ID": "2"}) in site.stage.received
    assert site.stage.modes["AV"] == 1
    # The player leaves the stage as it was, and stays until the stage has read its frames.
    place = {"X": "44.0", "Y": "176.0"}
    assert site.stage.received[-3:] == [("DRAW_CLEAR", {"layer": "3"}), ("MOVE", place), ("INFO", {})]
    # The stage accepts 60 frames a second, 300 at once.
    assert 20 < sum(site.stage.modes.values()) < 300


def player(site: FakeSite, password: str = "sesame") -> Player:
    return alone(site, Player, "--player=ann", f"--password={password}")


def test_a_player_signs_in_once_for_several_visits(site: FakeSite) -> None:
    user = player(site)
    assert (user.sign_in(), user.sign_in()) == (True, True)
    assert site.asked["/admin/login"] == 1


def test_a_wrong_password_fails_and_is_tried_once(site: FakeSite) -> None:
    user = player(site, "guess")
    for each in (user, player(site, "guess")):  # Locust replaces a user who has stopped
        with pytest.raises(StopUser):
            each.sign_in()
    assert reasons(user.environment) == ["POST /admin/login: /admin/login: status 401"]
    assert site.asked["/admin/login"] == 1


def test_a_player_with_another_identity_fails(site: FakeSite) -> None:
    site.signed_in_as = "nice visitor"
    user = player(site)
    for _ in range(2):  # the second time without the cookies of the first, which the site would reject
        assert user.sign_in()
        assert not user.load_stage()
    assert reasons(user.environment) == ["GET /admin/id: signed in, but the identity is not this player's"]
    assert site.asked["/admin/login"] == 2


@pytest.mark.parametrize("fate", ["cut", "stalls"])
def test_a_stalled_client_reads_nothing_and_fails_nothing(site: FakeSite, fate: str) -> None:
    if fate == "cut":
        site.stage.cut_at = "INFO"
    else:
        site.stage.stalls = True
    result = run(site, eager(SlowReader), users=2, until_rows={"stage connect": 4})
    assert set(result.requests) == {"stage connect"}
    assert not result.failed
    assert site.stage.modes["JOIN"] >= 2
    assert not site.stage.modes["LOADED"]
