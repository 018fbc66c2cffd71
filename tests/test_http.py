"""Responses on the published port. (The caching rules: test_caching_rules.py.)"""

import pytest

from stack import Stack


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("path", "size"),
    [
        ("/media/bench/tiny.html", 5_000),  # kept by nginx and by Varnish
        ("/media/bench/small.swf", 75_000),
        ("/media/bench/big.swf", 1_300_000),  # Varnish keeps its name, nginx reads it from the disk
    ],
)
def test_a_hit_is_byte_for_byte_the_file(stack: Stack, path: str, size: int) -> None:
    original = stack.get(path, "nginx.localhost").content
    assert len(original) == size
    for host in ("localhost", "classic.localhost"):
        for _ in range(2):
            response = stack.get(path, host)
        assert "varnish; hit; ttl=" in response.headers["Cache-Status"]
        assert response.content == original


@pytest.mark.smoke
@pytest.mark.parametrize("host", ["localhost", "classic.localhost"])
def test_the_admin_can_sign_in(stack: Stack, host: str) -> None:
    wrong = stack.get("/admin/login", host, "POST", data={"username": "admin", "password": "wrong"})
    assert wrong.status_code == 401

    form = {"username": "admin", "password": stack.admin_password}
    right = stack.get("/admin/login", host, "POST", data=form)
    assert right.status_code == 302
    assert ":8081" not in str(right.headers)
    cookie = right.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite" in cookie
    session = {"Cookie": cookie.split(";")[0]}
    assert "Sign out" in stack.get("/admin/", host, headers=session).text
    assert "canAdmin=True" in stack.get("/admin/id", host, headers=session).text
    assert "canAdmin=False" in stack.get("/admin/id", host).text
