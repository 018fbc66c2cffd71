"""Requests that the web UI accepts or rejects: from a browser, a program or another page."""

import json
import re
from pathlib import Path

import pytest

import web_password
from loadtest.tests.fake_site import FakeSite
from loadtest.tests.locust_library import WebUI, until

FORM = {"user_count": "1", "spawn_rate": "1", "user_classes": "Reader"}
# Every path that changes something, and one that shows figures.
PATHS = [
    *(("POST", path) for path in ("/swarm", "/stop", "/stats/reset", "/user", "/login")),
    *(("GET", path) for path in ("/stats/reset", "/stats/requests")),
    ("GET", "/stop"),  # changes something in other versions of Locust
]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the host names of a classroom."""
    monkeypatch.setenv("SERVER_NAMES", "class.example *.school.example")


def is_running(ui: WebUI) -> bool:
    """Return whether a run is under way."""
    return ui.runner.state not in ("ready", "stopped")


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example", "sec-fetch-site": "cross-site"},
        {"origin": "http://localhost:8080", "sec-fetch-site": "same-site"},  # the stage, with players' media
        {"origin": "http://evil.example"},  # browsers send no Sec-Fetch-Site to any address but localhost
        {"origin": "null"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},  # a link, or a form of an old page
    ],
)
def test_requests_of_another_page_are_rejected(ui: WebUI, headers: dict[str, str]) -> None:
    for method, path in PATHS:
        form = FORM if method == "POST" else None
        assert ui.client.open(path, method=method, data=form, headers=headers).status_code == 403, path
        assert not is_running(ui), path


def test_no_page_of_another_origin_may_read_a_response(ui: WebUI) -> None:
    for path in ("/", "/stats/requests", "/nothing"):
        response = ui.client.get(path, headers={"origin": "http://evil.example"})
        assert not [name for name, _ in response.headers if name.startswith("Access-Control")], path


@pytest.mark.parametrize(
    "headers",
    [{"sec_fetch_site": "same-origin", "origin": "http://localhost"}, {"origin": "http://localhost"}, {}],
)
def test_requests_of_its_own_page_and_of_programs_are_accepted(ui: WebUI, headers: dict[str, str]) -> None:
    assert ui.post("/swarm", FORM, **headers).get_json()["success"] is True
    until(lambda: is_running(ui))
    assert ui.post("/stop", {}, **headers).get_json()["success"] is True
    until(lambda: not is_running(ui))


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *((host, 200) for host in ("localhost:8089", "127.0.0.1", "[::1]:8089", "locust.localhost:8089")),
        *((host, 200) for host in ("CLASS.example:8089", "room5.school.example")),
        ("192.0.2.7:8089", 200),  # an address cannot be rebound
        *((f"{name}evil.example", 421) for name in ("", "localhost.", "127.0.0.1.")),
        *((host, 421) for host in ("2130706433", "evil.example#localhost", "[")),
    ],
)
def test_only_its_own_names_lead_to_it(names: None, ui: WebUI, host: str, status: int) -> None:
    assert ui.get("/", host=host).status_code == status


def test_another_target_is_rejected(site: FakeSite, ui: WebUI) -> None:
    for host in ("http://evil.example", f"{site.url}0", site.url.replace("127.0.0.1", "127.0.0.2"), ""):
        response = ui.start(host=host)
        assert response["success"] is False
        assert response["message"] == "The target is fixed: it is this stack."
    assert not is_running(ui)
    settings = json.dumps({"user_class_name": "Reader", "host": "http://evil.example"})
    assert ui.client.post("/user", data=settings).get_json()["success"] is False
    # As the page sends it, with or without a final slash.
    for host in (site.url, f"{site.url}/"):
        assert ui.start(host=host)["success"] is True


def test_a_running_shape_is_not_edited(ui: WebUI) -> None:
    assert ui.start(shape_class="LongRun")["success"] is True
    until(lambda: is_running(ui))
    response = ui.post("/swarm", {"user_count": "5", "spawn_rate": "5"}).get_json()
    assert response["success"] is False
    assert "A load shape is running" in response["message"]


@pytest.mark.parametrize(
    ("bind", "web_host", "required"),
    [
        *((bind, "", False) for bind in ("127.0.0.1", "127.3.2.1", "::1", "[::1]", "localhost")),
        *((bind, "", True) for bind in ("0.0.0.0", "::", "192.0.2.7", "class.example")),
        ("", "127.0.0.1", False),
        ("", "", True),
        ("", "*", True),
    ],
)
def test_a_login_is_required_where_other_machines_reach_it(
    monkeypatch: pytest.MonkeyPatch, bind: str, web_host: str, required: bool
) -> None:
    monkeypatch.setenv("BIND_ADDR", bind)
    assert web_password.is_required(web_host) is required
    monkeypatch.setenv("LOCUST_WEB_PASSWORD", "chosen")
    assert web_password.is_required(web_host)
    assert web_password.account() == ("locust", "chosen")


def test_a_generated_password_is_kept_for_its_owner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOCUST_WEB_PASSWORD_FILE", str(tmp_path / "kept"))
    name, password = web_password.account()
    assert name == "locust"
    assert re.fullmatch(r"[\w-]{16}", password)
    assert web_password.account() == (name, password)
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv("LOCUST_WEB_PASSWORD_FILE", str(tmp_path / "another"))
    assert web_password.account() != (name, password)


def test_a_password_of_another_user_is_not_accepted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOCUST_WEB_PASSWORD_FILE", str(tmp_path / "kept"))
    (tmp_path / "kept").touch()  # such as on a full disk
    with pytest.raises(RuntimeError, match="is empty or another user's"):
        web_password.account()
    (tmp_path / "kept").unlink()
    (tmp_path / "theirs").write_text("known")
    (tmp_path / "kept").symlink_to(tmp_path / "theirs")
    with pytest.raises(OSError, match="symbolic links"):
        web_password.account()
