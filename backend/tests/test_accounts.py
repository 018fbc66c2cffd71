"""accounts: passwords, sessions, keys, and the limit on wrong passwords, on the login page and over FTP."""

import ftplib
from pathlib import Path
from typing import cast
from urllib.parse import urlencode

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from backend.tests.fake_reactor import begin
from backend.tests.running_backend import FORM, FTP, PASSWORD, Backend, ask
from upstage.stage.keys import Keys, digest_of
from upstage.stage.players import AUDIENCE
from upstage.state import login_limits
from upstage.state.accounts import ADMIN, Accounts
from upstage.state.admin_password import keep_password
from upstage.state.passwords import HASHER, PasswordError, choose, matches
from upstage.state.records import RIGHTS, Account, Session
from upstage.state.sessions import admin_hash

SCHOOL, GUESSER, HOME = "192.0.2.1", "198.51.100.1", "203.0.113.1"
CLASS = [f"learner{number}" for number in range(30)]


class Login:
    """Accounts whose passwords are their names, checked immediately or when the test says so."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.written: dict[str, Account] = {}
        self.accounts = Accounts("admin", self._matches, self, self.clock.seconds)
        self.accounts.replace_players({name: Account(name, name, frozenset()) for name in CLASS})
        self.slow = False
        self.checked = 0
        self.pending: list[tuple[Deferred[bool], bool]] = []

    async def _matches(self, hash: str, password: str) -> bool:
        self.checked += 1
        if self.slow:
            self.pending.append((Deferred(), hash == password))
            return await self.pending[-1][0]
        return hash == password

    def end(self, digest: str) -> None:
        self.written.pop(digest)

    async def add(self, digest: str, account: Account) -> None:
        self.written[digest] = account

    async def write(self) -> None:
        """Do nothing: this store has no queue."""

    def begin(self, name: str, password: str, address: str) -> "list[str | Failure | None]":
        return begin(self.accounts.sign_in(name, password, address))

    def token(self, name: str, password: str, address: str = HOME) -> str | None:
        """Return a session's token, None if the password was wrong; raise TooManyFailures."""
        [result] = self.begin(name, password, address)
        if isinstance(result, Failure):
            result.raiseException()
        return cast(str | None, result)

    def check_all(self) -> None:
        while self.pending:
            pending, self.pending = self.pending, []
            for deferred, right in pending:
                deferred.callback(right)


@pytest.fixture
def login() -> Login:
    return Login()


def test_a_password_is_generated_once_and_private(tmp_path: Path) -> None:
    (tmp_path / ".admin-password.new").write_text("half")  # left by a start that crashed
    password = keep_password(tmp_path)
    assert len(password) >= 16
    assert keep_password(tmp_path) == password
    [file] = tmp_path.iterdir()
    assert file.name == "admin-password"
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_session_lasts_from_sign_in_to_sign_out(login: Login) -> None:
    assert login.token("admin", "wrong") is None
    assert login.token("Admin", "admin") is None
    token = login.token("admin", "admin")
    assert token
    assert login.accounts.player(token) == ADMIN
    assert login.accounts.player("") is AUDIENCE
    begin(login.accounts.sign_out(token))
    assert login.accounts.player(token) is AUDIENCE
    assert login.written == {}


def test_sessions_are_restored_unless_they_have_expired_or_their_account_has_changed(login: Login) -> None:
    tokens = [login.token(name, name) or "" for name in ("admin", "learner1", "learner2")]
    noon = 43200.0
    kept = [Session(digest, account, noon + 60) for digest, account in login.written.items()]
    kept.append(Session("old", login.written[digest_of(tokens[0])], noon - 1))
    again = Login()
    again.written = {session.digest: session.account for session in kept}
    changed = Account("learner2", "a new password", frozenset())
    again.accounts.replace_players(
        {"learner1": Account("learner1", "learner1", frozenset()), "learner2": changed}
    )
    again.accounts.restore(kept, noon)
    assert [again.accounts.player(token).name for token in tokens] == ["admin", "learner1", AUDIENCE.name]
    assert again.written.keys() == {digest_of(token) for token in tokens[:2]}
    again.clock.advance(60)
    assert [again.accounts.player(token) for token in tokens] == [AUDIENCE] * 3


def test_the_administrators_hash_stays_while_the_password_does() -> None:
    """The sessions of an earlier process remain valid only while the administrator's hash is the same."""
    hash = HASHER.hash("open sesame")
    others = ["no hash", HASHER.hash("another one"), hash.replace("m=19456", "m=4000000")]
    kept = [
        Session(str(n), Account("admin", known, frozenset(RIGHTS)), 0.0)
        for n, known in enumerate([*others, hash])
    ]
    assert admin_hash("open sesame", kept) == hash
    assert matches(admin_hash("open sesame", kept[:-1]), "open sesame")
    assert admin_hash("open sesame", kept[:-1]) not in others


def test_a_changed_or_removed_player_is_signed_out(login: Login) -> None:
    ann, bob = Account("Ann", "a", frozenset({"act"})), Account("bob", "b", frozenset())
    login.accounts.replace_players({"Ann": ann, "bob": bob})
    tokens = [login.token("ann", "a") or "", login.token("bob", "b") or ""]
    assert [login.accounts.player(token) for token in tokens] == [ann.player, bob.player]
    login.accounts.replace_players({"Ann": Account("Ann", "a", frozenset({"act", "su"})), "bob": bob})
    assert [login.accounts.player(token) for token in tokens] == [AUDIENCE, bob.player]
    login.accounts.replace_players({})
    assert login.accounts.player(tokens[1]) is AUDIENCE


def test_passwords_are_argon2_and_not_too_short() -> None:
    hash = choose("long enough")
    assert hash.startswith("$argon2id$")
    assert matches(hash, "long enough")
    assert not matches(hash, "long enough ")
    assert not matches("no hash at all", "long enough")
    for bad in ("short", "x" * 201):
        with pytest.raises(PasswordError, match="8 to 200"):
            choose(bad)


def test_tokens_expire() -> None:
    clock = Clock()
    tokens: Keys[str] = Keys(clock.seconds, lifetime=10)
    token = tokens.issue("x")
    assert len(token) == 32
    assert int(token, 16) >= 0
    clock.advance(9.9)
    assert tokens.get(token) == "x"
    clock.advance(0.1)
    assert tokens.get(token) is None
    assert tokens.get("unknown") is None


def test_who_has_no_key_any_more_is_forgotten() -> None:
    keys, asked = Keys[str](lambda: 0.0), []
    keys.revoke(keys.issue("ann"))
    keys.keep_if(lambda name: bool(asked.append(name)))
    assert asked == []


def test_the_player_with_the_most_keys_loses_the_oldest() -> None:
    tokens: Keys[str] = Keys(Clock().seconds, most=4)
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


def test_a_class_signs_in_at_once(login: Login) -> None:
    login.slow = True
    results = [login.begin(name, name, SCHOOL) for name in [*CLASS, *CLASS, *CLASS]]
    assert len(login.pending) == login_limits.ADDRESS[0]  # the others wait
    login.check_all()
    assert all(isinstance(result, str) for [result] in results)


def test_simultaneous_guesses_do_not_exceed_the_limit(login: Login) -> None:
    login.slow = True
    results = [login.begin("admin", "wrong", GUESSER) for _ in range(300)]
    assert login.checked == login_limits.HERE[0]
    surplus = 300 - login_limits.HERE[0] - login_limits.MAX_WAITING
    assert sum(isinstance(result[0], Failure) for result in results if result) == surplus
    login.check_all()
    assert login.checked == login_limits.HERE[0]
    errors = [result.type for [result] in results if isinstance(result, Failure)]
    assert errors.count(login_limits.TooManyFailures) == login_limits.MAX_WAITING
    assert errors.count(login_limits.TooManyWaiting) == surplus


def fail(login: Login, name: str, address: str, times: int) -> None:
    for _ in range(times):
        assert not login.token(name, "wrong", address)


def test_a_locked_address_is_told_when_to_retry_and_others_sign_in(login: Login) -> None:
    fail(login, "admin", GUESSER, login_limits.HERE[0])
    login.clock.advance(20.5)
    with pytest.raises(login_limits.TooManyFailures) as locked:
        login.token("admin", "admin", GUESSER)
    assert locked.value.seconds == 40
    assert login.token("admin", "admin", HOME)
    login.clock.advance(39.5)
    assert login.token("admin", "admin", GUESSER)


def test_a_login_forgives_only_the_failures_of_its_account(login: Login) -> None:
    """Between guesses, the attacker signs in to its own account."""
    for turn in range(login_limits.HERE[0]):
        fail(login, "learner0", GUESSER, 3)
        assert login.token("learner0", "learner0", GUESSER)
        fail(login, "admin", GUESSER, 1)
        assert login.checked == 5 * (turn + 1)
    with pytest.raises(login_limits.TooManyFailures):
        login.token("admin", "wrong", GUESSER)


def test_guessing_at_many_accounts_locks_the_address(login: Login) -> None:
    for turn in range(login_limits.ADDRESS[0]):
        assert login.token("learner29", "learner29", GUESSER)
        fail(login, CLASS[turn % 20], GUESSER, 1)
    for name in ("learner25", "unknown"):
        with pytest.raises(login_limits.TooManyFailures):
            login.token(name, name, GUESSER)
    assert login.token("learner25", "learner25", HOME)


def test_guessing_from_many_addresses_is_slowed_and_does_not_lock_the_owner_out(login: Login) -> None:
    assert login.token("admin", "admin", HOME)
    for number in range(login_limits.EVERYWHERE[0]):
        fail(login, "ADMIN"[: 5 * (number % 2)] or "admin", f"198.51.100.{number}", 1)
    with pytest.raises(login_limits.TooManyFailures):
        login.token("admin", "admin", "198.51.100.250")
    assert login.token("admin", "admin", HOME)
    login.clock.advance(login_limits.EVERYWHERE[1])
    assert login.token("admin", "admin", "198.51.100.250")


def test_an_ipv6_client_has_a_whole_network_of_addresses(login: Login) -> None:
    for number in range(login_limits.HERE[0]):
        fail(login, "admin", f"2001:db8:1:2::{number:x}", 1)
    with pytest.raises(login_limits.TooManyFailures):
        login.token("admin", "admin", "2001:db8:1:2:ffff::1")


def test_the_tables_are_bounded(login: Login, monkeypatch: pytest.MonkeyPatch) -> None:
    assert login_limits.REMEMBERED == 10_000
    monkeypatch.setattr(login_limits, "REMEMBERED", 100)
    for number in range(500):
        fail(login, f"name{number}" * 1000, str(number), 1)
        assert login.token("learner0", "learner0", str(number))
    kept = login.accounts._limits
    assert len(kept._here) == len(kept._addresses) == len(kept._everywhere) == 100
    assert len(kept._owners) == 100


def test_the_login_page_and_ftp_share_the_limit(tmp_path: Path) -> None:
    server = Backend(tmp_path, UPSTAGE_ADMIN_PASSWORD=PASSWORD, **FTP)

    def sign_in(address: str) -> tuple[int, int]:
        body = urlencode({"username": "admin", "password": PASSWORD}).encode()
        response = ask(server, "/admin/login", "POST", body, X_Real_IP=address, **FORM)
        return response.status, int(response.headers.get("retry-after", "0"))

    wrong = [("wrong", "^530 ")] * login_limits.HERE[0]
    for password, problem in [*wrong, (PASSWORD, "try again in [0-9]+ s")]:
        with ftplib.FTP() as client:
            client.connect("127.0.0.1", server.port_of("WebcamFactory"), 5)
            with pytest.raises(ftplib.error_perm, match=problem):
                client.login("admin", password)
    status, seconds = sign_in("127.0.0.1")
    assert status == 429
    assert 0 < seconds <= login_limits.HERE[1]
    assert sign_in(HOME) == (302, 0)
    server.end()
