"""The source of `Player`'s account, and the places where its password must not appear."""

import logging
from argparse import Namespace
from pathlib import Path

import pytest

from loadtest.tests.fake_site import FakeSite
from loadtest.tests.locust_library import CLASSES, WebUI, until
from locustfile import Player
from users import account

SECRET = "sesame"  # FakeSite's


def filled(player: str = "", password: str = "") -> tuple[str, str, str | None]:
    """Return the account that these options lead to, and the reason if there is none."""
    options = Namespace(player=player, password=password)
    lack = account.fill_in(options)
    return options.player, options.password, lack


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of the stack's account, whose file is not written yet."""
    monkeypatch.setenv("LOADTEST_ACCOUNT_FILE", str(tmp_path / "account"))
    return tmp_path / "account"


def test_the_options_come_first(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("load:generated\n")
    assert filled("ann", "typed") == ("ann", "typed", None)
    monkeypatch.setenv("LOADTEST_PASSWORD", "variable")
    assert filled("ann") == ("ann", "variable", None)
    assert filled("ann", "typed") == ("ann", "typed", None)


def test_the_file_is_used_if_nothing_else_names_an_account(file: Path) -> None:
    file.write_text("load:with:colons \n")
    assert filled() == ("load", "with:colons", None)


@pytest.mark.parametrize("text", ["", "\n", "load", "load:", ":secret", "load:a\nother:b"])
def test_a_malformed_file_is_no_account(file: Path, text: str) -> None:
    file.write_text(text)
    assert filled() == ("", "", f"{file} is not one line, name:password")


def test_a_missing_or_unreadable_file_is_no_account(file: Path) -> None:
    reason = f"no account is given, and {file} cannot be read: "
    assert filled()[2] == reason + "No such file or directory"
    file.write_bytes(b"\xff:\xff")
    assert filled()[2] == reason + "no text"
    file.unlink()
    file.mkdir()
    assert filled()[2] == reason + "Is a directory"


def start(ui: WebUI, users: int) -> str:
    """Press Start, or change the number of users of a run; return the reply."""
    form = {"user_classes": list(CLASSES), "user_count": f"{users}", "spawn_rate": f"{users}"}
    response = ui.post("/swarm", {**form, "player": "", "password": ""})
    assert response.get_json()["success"] is True
    return response.get_data(as_text=True)


def test_a_player_starts_at_one_click_and_the_password_appears_nowhere(
    site: FakeSite, file: Path, ui: WebUI, caplog: pytest.LogCaptureFixture
) -> None:
    file.write_text(f"ann:{SECRET}\n")
    with caplog.at_level(logging.DEBUG):
        reply = start(ui, users=6)
        until(lambda: site.stage.modes["AV"] == 1)
    report = "/stats/report?theme=dark"
    pages = [ui.get(path).get_data(as_text=True) for path in ("/", "/stats/requests", "/logs", report)]
    for text in (reply, caplog.text, *pages):
        assert SECRET not in text
    # The number of users is changed during the run: the form sends its empty fields again.
    start(ui, users=8)
    until(lambda: ui.stats()["user_count"] == 8)
    users = [greenlet.args[0] for greenlet in ui.runner.user_greenlets]
    [player] = [user for user in users if isinstance(user, Player)]
    player.signed_in = False
    assert player.sign_in()
