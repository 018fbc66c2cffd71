"""Whose orders Locust's page takes: real ones, asked as a browser, a program or an attacker's page would."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

import web_password
from test_locust import eventually
from test_web_ui import free_port, started
from tiny_front import Front

ORDER = {"user_count": "1", "spawn_rate": "1", "user_classes": "Reader"}
# Every path that changes something, and one that tells something.
ORDERS = [
    ("POST", "/swarm"),
    ("POST", "/stop"),
    ("GET", "/stop"),  # an order in other versions of Locust
    ("POST", "/stats/reset"),
    ("GET", "/stats/reset"),
    ("POST", "/user"),
    ("POST", "/login"),
    ("GET", "/stats/requests"),
]


@pytest.fixture(scope="module")
def front_and_page() -> Iterator[tuple[str, str]]:
    """A target on which nobody listens, and the address of the page."""
    port, target = free_port(), "http://127.0.0.1:9"
    names = {"SERVER_NAMES": "class.example *.school.example", "BIND_ADDR": "127.0.0.1"}
    with started(LOCUST_HOST=target, LOCUST_WEB_PORT=str(port), **names):
        yield target, f"http://127.0.0.1:{port}"


@pytest.fixture
def page(front_and_page: tuple[str, str]) -> str:
    return front_and_page[1]


@pytest.fixture
def target(front_and_page: tuple[str, str]) -> str:
    return front_and_page[0]


def ask(method: str, url: str, data: dict[str, str] | None = None, **headers: str) -> requests.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return requests.request(method, url, headers=named, data=data, allow_redirects=False, timeout=60)


def is_running(page: str) -> bool:
    return bool(
        requests.get(f"{page}/stats/requests", timeout=60).json()["state"] not in ("ready", "stopped")
    )


@pytest.mark.parametrize(
    "another",
    [
        {"Origin": "http://evil.example", "Sec_Fetch_Site": "cross-site"},
        {
            "Origin": "http://localhost:8080",
            "Sec_Fetch_Site": "same-site",
        },  # the stage, whose media are others'
        {
            "Origin": "http://evil.example"
        },  # to an address that is no localhost, browsers say no more than this
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"},  # a link, or a form of old
    ],
)
@pytest.mark.parametrize(("method", "path"), ORDERS)
def test_another_page_is_not_obeyed(page: str, method: str, path: str, another: dict[str, str]) -> None:
    assert ask(method, page + path, ORDER if method == "POST" else None, **another).status_code == 403
    assert not is_running(page)


def test_its_own_page_and_programs_are_obeyed(page: str) -> None:
    for own in ({"Sec_Fetch_Site": "same-origin", "Origin": page}, {"Origin": page}, {}):
        assert ask("POST", f"{page}/swarm", ORDER, **own).json()["success"] is True
        eventually(lambda: is_running(page))
        assert ask("POST", f"{page}/stop", {}, **own).json()["success"] is True
        eventually(lambda: not is_running(page))


def test_a_link_may_lead_to_the_page_and_no_frame_shows_it(page: str) -> None:
    answer = ask("GET", page + "/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")
    assert answer.status_code == 200
    assert answer.headers["Content-Security-Policy"] == "frame-ancestors 'none'"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8089", 200),
        ("127.0.0.1", 200),
        ("[::1]:8089", 200),
        ("192.0.2.7:8089", 200),  # an address cannot be made to lead elsewhere
        ("locust.localhost:8089", 200),
        ("CLASS.example:8089", 200),
        ("room5.school.example", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("2130706433", 421),
        ("evil.example#localhost", 421),
        ("[", 421),
    ],
)
def test_only_its_own_names_lead_to_it(page: str, host: str, status: int) -> None:
    assert ask("GET", page + "/", Host=host).status_code == status


def test_a_foreign_target_is_refused(page: str, target: str) -> None:
    for host in ("http://evil.example", f"{target}0", target.replace("127.0.0.1", "127.0.0.2"), ""):
        answer = ask("POST", f"{page}/swarm", {**ORDER, "host": host}).json()
        assert answer["success"] is False
        assert "LOADTEST_FOREIGN_HOSTS" in answer["message"]
    assert not is_running(page)
    foreign = '{"user_class_name": "Reader", "host": "http://evil.example"}'
    answer = requests.post(f"{page}/user", data=foreign, timeout=60)
    assert answer.json()["success"] is False
    # As the page sends it, with or without a slash.
    for host in (target, f"{target}/"):
        assert ask("POST", f"{page}/swarm", {**ORDER, "host": host}).json()["success"] is True
    ask("POST", f"{page}/stop", {})


def test_a_foreign_target_is_taken_if_that_is_allowed(front: Front) -> None:
    port = free_port()
    knobs = {"LOCUST_HOST": "http://127.0.0.1:9", "LOADTEST_FOREIGN_HOSTS": "on"}
    with started(LOCUST_WEB_PORT=str(port), **knobs):
        page = f"http://127.0.0.1:{port}"
        assert ask("POST", f"{page}/swarm", {**ORDER, "host": front.address}).json()["success"] is True
        eventually(lambda: front.asked["/stages/demo"] > 0)


def test_a_scenario_that_is_played_is_not_edited(page: str) -> None:
    scenario = {**ORDER, "user_count": "2", "shape_class": "LongRun"}
    assert ask("POST", f"{page}/swarm", scenario).json()["success"] is True
    eventually(lambda: is_running(page))
    answer = ask("POST", f"{page}/swarm", {"user_count": "5", "spawn_rate": "5"}).json()
    assert answer["success"] is False
    assert "A scenario is running" in answer["message"]
    ask("POST", f"{page}/stop", {})
    eventually(lambda: not is_running(page))


def test_where_others_reach_it_everything_but_the_way_in_asks_for_the_password(tmp_path: Path) -> None:
    port, kept = free_port(), tmp_path / "password"
    knobs = {"BIND_ADDR": "0.0.0.0", "LOCUST_WEB_PASSWORD_FILE": str(kept)}
    with started(LOCUST_HOST="http://127.0.0.1:9", LOCUST_WEB_PORT=str(port), **knobs):
        page = f"http://127.0.0.1:{port}"
        paths = ["/", "/stats/report", "/stats/requests", "/stats/requests/csv", "/stats/failures/csv"]
        paths += ["/stats/requests_full_history/csv", "/exceptions", "/exceptions/csv", "/tasks", "/logs"]
        paths += ["/worker-count", "/caches/csv"]
        for method, path in [
            *(("GET", path) for path in paths),
            *ORDERS[:1],
            *ORDERS[1:2],
            ORDERS[3],
            ORDERS[5],
        ]:
            answer = ask(method, page + path, ORDER if method == "POST" else None)
            assert (path, answer.status_code) == (path, 302)
            assert answer.headers["Location"].startswith("/login")
        browser = requests.Session()
        right = {"username": "locust", "password": kept.read_text()}
        assert "Start" not in browser.post(f"{page}/login", {**right, "password": "x"}, timeout=60).url
        assert browser.post(f"{page}/login", right, timeout=60).url == f"{page}/"
        assert browser.get(f"{page}/stats/requests", timeout=60).json()["state"] == "ready"


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    for name in ("BIND_ADDR", "LOCUST_WEB_USERNAME", "LOCUST_WEB_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LOCUST_WEB_PASSWORD_FILE", str(tmp_path / "kept"))
    return monkeypatch


@pytest.mark.parametrize(
    ("bind", "web_host", "asked"),
    [
        ("127.0.0.1", "", False),
        ("127.3.2.1", "", False),
        ("::1", "", False),
        ("[::1]", "", False),
        ("localhost", "", False),
        ("0.0.0.0", "", True),
        ("::", "", True),
        ("192.0.2.7", "", True),
        ("class.example", "", True),
        ("", "127.0.0.1", False),
        ("", "", True),
        ("", "*", True),
    ],
)
def test_it_asks_where_others_reach_it(
    variables: pytest.MonkeyPatch, bind: str, web_host: str, asked: bool
) -> None:
    variables.setenv("BIND_ADDR", bind)
    assert web_password.is_asked(web_host) is asked
    variables.setenv("LOCUST_WEB_PASSWORD", "chosen")
    assert web_password.is_asked(web_host)
    assert web_password.account() == ("locust", "chosen")


def test_a_generated_password_is_kept_for_its_owner(variables: pytest.MonkeyPatch, tmp_path: Path) -> None:
    name, password = web_password.account()
    assert name == "locust"
    assert re.fullmatch(r"[\w-]{16}", password)
    assert web_password.account() == (name, password)
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o600
    variables.setenv("LOCUST_WEB_PASSWORD_FILE", str(tmp_path / "another"))
    assert web_password.account() != (name, password)


def test_a_password_of_somebody_elses_is_not_taken(variables: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "kept").touch()  # such as on a full disk
    with pytest.raises(RuntimeError, match="is empty or somebody else's"):
        web_password.account()
    (tmp_path / "kept").unlink()
    (tmp_path / "theirs").write_text("known")
    (tmp_path / "kept").symlink_to(tmp_path / "theirs")
    with pytest.raises(OSError, match="symbolic links"):
        web_password.account()
