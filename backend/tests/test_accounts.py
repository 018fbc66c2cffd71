"""accounts, tokens and settings: nothing kept too long, nothing guessed for ever, errors that help."""

from pathlib import Path

import pytest

from upstage.accounts import ADMIN, FAILURE_WINDOW, MAX_FAILURES, Accounts, TooManyFailures, keep_password
from upstage.settings import Settings, SettingsError, from_environment, parse_endpoint
from upstage.tokens import Tokens


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_password_is_generated_once_and_private(tmp_path: Path) -> None:
    password = keep_password(tmp_path)
    assert len(password) >= 16
    assert keep_password(tmp_path) == password
    [file] = tmp_path.iterdir()
    assert file.name == "admin-password"
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_crash_while_writing_the_password_is_survived(tmp_path: Path) -> None:
    (tmp_path / ".admin-password.new").write_text("half")
    assert keep_password(tmp_path) == (tmp_path / "admin-password").read_text().strip()


def test_signing_in() -> None:
    accounts = Accounts("söze")
    assert accounts.sign_in("admin", "wrong", "a") is None
    assert accounts.sign_in("Admin", "söze", "a") is None
    token = accounts.sign_in("admin", "söze", "a")
    assert token is not None
    assert accounts.sessions.get(token) is ADMIN


def test_guessing_is_slowed_down_for_one_address_only() -> None:
    clock = Clock()
    accounts = Accounts("right", clock)
    for _ in range(MAX_FAILURES):
        assert accounts.sign_in("admin", "wrong", "guesser") is None
    with pytest.raises(TooManyFailures):
        accounts.sign_in("admin", "right", "guesser")
    assert accounts.sign_in("admin", "right", "teacher")
    clock.now += FAILURE_WINDOW
    assert accounts.sign_in("admin", "right", "guesser")


def test_remembering_failures_is_bounded() -> None:
    accounts = Accounts("right")
    for number in range(3000):
        accounts.sign_in("admin", "wrong", str(number))
    assert len(accounts._failures) == 1000


def test_tokens_expire() -> None:
    clock = Clock()
    tokens: Tokens[str] = Tokens(clock, lifetime=10)
    token = tokens.issue("x")
    assert len(token) == 32
    assert int(token, 16) >= 0
    clock.now += 9.9
    assert tokens.get(token) == "x"
    clock.now += 0.1
    assert tokens.get(token) is None
    assert tokens.get("unknown") is None


def test_tokens_are_bounded() -> None:
    tokens: Tokens[int] = Tokens(Clock(), most=3)
    issued = [tokens.issue(number) for number in range(5)]
    assert [tokens.get(token) for token in issued] == [None, None, 2, 3, 4]


def settings(**environment: str) -> Settings:
    return from_environment({f"UPSTAGE_{name}": value for name, value in environment.items()})


def test_defaults() -> None:
    default = settings(ADMIN_PASSWORD="")
    assert default.web.reachable_at == ("127.0.0.1", 8081)
    assert (default.stage.port, default.stage.proxied) == (7230, True)
    assert (default.data, default.media) == (Path("/var/lib/upstage"), Path("/srv/media"))


@pytest.mark.parametrize(
    ("text", "proxied", "reachable_at"),
    [
        ("tcp:8081", False, ("127.0.0.1", 8081)),
        ("haproxy:tcp:7230:backlog=1024", True, ("127.0.0.1", 7230)),
        ("haproxy:tcp:7230:backlog=1024:interface=127.42.0.3", True, ("127.42.0.3", 7230)),
        ("tcp:80:interface=0.0.0.0", False, ("127.0.0.1", 80)),
        (r"tcp6:80:interface=\:\:", False, ("::1", 80)),
        ("tcp6:80", False, ("::1", 80)),
    ],
)
def test_endpoints(text: str, proxied: bool, reachable_at: tuple[str, int]) -> None:
    endpoint = parse_endpoint("X", text)
    assert endpoint.description == text
    assert endpoint.proxied is proxied
    assert endpoint.reachable_at == reachable_at


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"WEB_ENDPOINT": "8081"}, "UPSTAGE_WEB_ENDPOINT=8081: expected"),
        ({"WEB_ENDPOINT": "tcp:"}, "UPSTAGE_WEB_ENDPOINT=tcp:: expected"),
        ({"WEB_ENDPOINT": "tcp:99999"}, "no port above 65535"),
        ({"STAGE_ENDPOINT": "haproxy"}, "UPSTAGE_STAGE_ENDPOINT=haproxy: expected"),
        ({"STAGE_ENDPOINT": "tcp:1:backlog=many"}, "'backlog=many' is not known here"),
        ({"DATA": "var"}, "UPSTAGE_DATA=var: must be an absolute path"),
        ({"ADMIN_PASSWORD": "a\nb"}, "UPSTAGE_ADMIN_PASSWORD: must be one line"),
    ],
)
def test_wrong_settings_are_named(variables: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        settings(**variables)
