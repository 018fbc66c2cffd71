"""accounts, tokens and settings: sessions, expiry, and the messages for wrong settings."""

from pathlib import Path
from typing import TypeVar, cast

import pytest
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from upstage.stage.keys import Keys
from upstage.stage.players import AUDIENCE
from upstage.state.accounts import ADMIN, Accounts
from upstage.state.admin_password import keep_password
from upstage.state.passwords import PasswordError, choose
from upstage.state.passwords import matches as matches_hash
from upstage.state.records import Account

T = TypeVar("T")


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


async def matches(hash: str, password: str) -> bool:
    return hash == password


def sign_in(accounts: Accounts, name: str, password: str, address: str) -> str | None:
    """Sign in; nothing waits here, so the coroutine ends immediately."""
    return done(Deferred.fromCoroutine(accounts.sign_in(name, password, address)))


def done(deferred: Deferred[T]) -> T:
    result: list[T | Failure] = []
    deferred.addBoth(result.append)
    [value] = result
    if isinstance(value, Failure):
        value.raiseException()
    return cast(T, value)


def test_a_session_lasts_from_sign_in_to_sign_out() -> None:
    accounts = Accounts("söze", matches)
    assert sign_in(accounts, "admin", "wrong", "a") is None
    assert sign_in(accounts, "Admin", "söze", "a") is None
    token = sign_in(accounts, "admin", "söze", "a")
    assert token is not None
    assert accounts.player(token) == ADMIN
    assert accounts.player("") is AUDIENCE
    accounts.sign_out(token)
    assert accounts.player(token) is AUDIENCE


def test_a_changed_or_removed_player_is_signed_out() -> None:
    accounts = Accounts("söze", matches)
    ann, bob = Account("Ann", "a", frozenset({"act"})), Account("bob", "b", frozenset())
    accounts.replace_players({"Ann": ann, "bob": bob})
    tokens = [sign_in(accounts, name, password, "x") for name, password in (("ann", "a"), ("bob", "b"))]
    assert [accounts.player(token or "") for token in tokens] == [ann.player, bob.player]
    accounts.replace_players({"Ann": Account("Ann", "a", frozenset({"act", "su"})), "bob": bob})
    assert [accounts.player(token or "") for token in tokens] == [AUDIENCE, bob.player]
    accounts.replace_players({})
    assert accounts.player(tokens[1] or "") is AUDIENCE


def test_passwords_are_argon2_and_not_too_short() -> None:
    hash = choose("long enough")
    assert hash.startswith("$argon2id$")
    assert matches_hash(hash, "long enough")
    assert not matches_hash(hash, "long enough ")
    assert not matches_hash("no hash at all", "long enough")
    for bad in ("short", "x" * 201):
        with pytest.raises(PasswordError, match="8 to 200"):
            choose(bad)


def test_tokens_expire() -> None:
    clock = Clock()
    tokens: Keys[str] = Keys(clock, lifetime=10)
    token = tokens.issue("x")
    assert len(token) == 32
    assert int(token, 16) >= 0
    clock.now += 9.9
    assert tokens.get(token) == "x"
    clock.now += 0.1
    assert tokens.get(token) is None
    assert tokens.get("unknown") is None


def test_whoever_has_the_most_tokens_loses_the_oldest() -> None:
    tokens: Keys[str] = Keys(Clock(), most=4)
    admin = tokens.issue("admin")
    greedy = [tokens.issue("greedy") for _ in range(5)]
    assert tokens.get(admin) == "admin"
    assert [tokens.get(token) for token in greedy] == [None, None, *["greedy"] * 3]
    other = tokens.issue("other")
    assert [tokens.get(token) for token in (admin, other, *greedy[2:])] == [
        "admin",
        "other",
        None,
        "greedy",
        "greedy",
    ]
