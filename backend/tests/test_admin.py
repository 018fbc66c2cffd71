"""Signing in and out over a real socket: sessions, form tokens, wrong passwords, forms from other sites."""

from urllib.parse import parse_qs, urlencode

import pytest

from backend.tests.running_backend import FORM, PASSWORD, Backend, Response, ask, join, token_in

PRIVATE = "no-store"


def sign_in(server: Backend, password: str = PASSWORD, **headers: str) -> Response:
    body = f"username=admin&password={password.replace(' ', '+')}".encode()
    return ask(server, "/admin/login", "POST", body, **FORM, **headers)


def test_a_session_opens_the_workshop_until_sign_out(server: Backend) -> None:
    response = sign_in(server, Host="stage.example.org:8080")
    assert response.status == 302
    assert response.headers["location"] == f"http://stage.example.org:{server.web_port}/admin/"
    cookie, *attributes = response.headers["set-cookie"].split("; ")
    assert set(attributes) == {"Path=/", "HttpOnly", "SameSite=Lax"}
    assert "Secure" in sign_in(server, X_Forwarded_Proto="https").headers["set-cookie"]
    page = ask(server, "/admin/", Cookie=cookie)
    assert b"Sign out" in page.body
    assert page.headers["cache-control"] == PRIVATE
    identity = parse_qs(ask(server, "/admin/id", Cookie=cookie).body.decode())
    key = identity.pop("key")[0]
    assert identity == {"player": ["admin"], "canAct": ["True"], "canAdmin": ["True"], "canSu": ["True"]}
    with server.connect().socket:  # another client: the key counts for its own connection only
        client = server.connect()
        assert join(client, key.encode())[-1].startswith(b"pCount=1&")
        client.close()
    assert ask(server, "/admin/logout", "POST", b"csrf=no", Cookie=cookie, **FORM).status == 403
    form = urlencode({"csrf": token_in(page.body)}).encode()
    bye = ask(server, "/admin/logout", "POST", form, Cookie=cookie, **FORM)
    assert bye.status == 302
    assert "Max-Age=0" in bye.headers["set-cookie"]
    assert ask(server, "/admin/", Cookie=cookie).text.count("Stage door") == 1


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost.evil.example", "http://[::"]
)
def test_a_form_from_another_site_is_rejected(server: Backend, origin: str) -> None:
    assert sign_in(server, Host="localhost:8080", Origin=origin).status == 403


OURS = {"Host": "localhost", "Origin": "http://localhost:8080"}


def test_a_browser_needs_the_token_of_the_form(server: Backend) -> None:
    page = ask(server, "/admin/")
    cookie, *attributes = page.headers["set-cookie"].split("; ")
    assert set(attributes) == {"Path=/admin", "HttpOnly", "SameSite=Lax"}
    assert ask(server, "/admin/", Cookie=cookie).headers.get("set-cookie") is None
    for headers in (OURS, {"Cookie": cookie}, {"Sec_Fetch_Site": "same-origin"}, {"Referer": "http://x/"}):
        assert sign_in(server, **headers).status == 403
    fields = {"username": "admin", "password": PASSWORD, "csrf": token_in(page.body)}
    form = urlencode(fields).encode()
    assert ask(server, "/admin/login", "POST", form, **FORM, **OURS).status == 403
    assert ask(server, "/admin/login", "POST", form, **FORM, **OURS, Cookie=cookie[:-1]).status == 403
    assert ask(server, "/admin/login", "POST", form, **FORM, **OURS, Cookie=cookie).status == 302
    evil = {"Cookie": cookie, "Origin": "http://evil"}
    assert ask(server, "/admin/login", "POST", form, **FORM, **evil).status == 403


def test_a_rejected_form_comes_back_with_a_valid_token(server: Backend) -> None:
    page = sign_in(server, **OURS)
    assert b'required value="admin">' in page.body
    cookie = page.headers["set-cookie"].partition(";")[0]
    fields = {"username": "admin", "password": PASSWORD, "csrf": token_in(page.body)}
    form = urlencode(fields).encode()
    assert ask(server, "/admin/login", "POST", form, **FORM, **OURS, Cookie=cookie).status == 302
