"""What a browser gets on the published port: the contract of docs/caching-rules.md on the running stack."""

import re
import uuid
from datetime import timedelta
from email.utils import format_datetime, parsedate_to_datetime

import pytest

from stack import Stack
from support.wait import wait_until


def cache_status(response: object) -> str:
    """The Varnish member of an answer's Cache-Status."""
    value: str = response.headers.get("Cache-Status", "")  # type: ignore[attr-defined]
    members = [member.strip() for member in value.split(",")]
    return next((member for member in members if member.startswith("varnish")), "")


@pytest.mark.parametrize("host", ["localhost", "upstage.localhost", "classic.localhost"])
@pytest.mark.parametrize(
    ("path", "size"),
    [
        ("/media/bench/tiny.html", 5_000),
        ("/media/bench/small.swf", 75_000),
        ("/media/bench/big.swf", 1_300_000),
    ],
)
def test_the_second_request_for_media_is_a_hit(stack: Stack, host: str, path: str, size: int) -> None:
    first, second = stack.get(path, host), stack.get(path, host)
    assert [first.status_code, second.status_code] == [200, 200]
    assert len(second.content) == size
    assert second.content == first.content
    assert cache_status(second).startswith("varnish; hit; ttl="), second.headers
    ttl = int(re.search(r"ttl=(\d+)", cache_status(second))[1])  # type: ignore[index]
    assert 43_000 < ttl <= 43_200  # twelve hours


def test_head_twice_as_curl_would(stack: Stack) -> None:
    stack.get("/media/bench/small.swf", method="HEAD")
    second = stack.get("/media/bench/small.swf", method="HEAD")
    assert cache_status(second).startswith("varnish; hit")
    assert second.headers["Content-Length"] == "75000"


def test_cookies_and_queries_of_media_do_not_matter_but_queries_are_kept_apart(
    stack: Stack,
) -> None:
    query = uuid.uuid4().hex
    path = f"/media/bench/tiny.html?{query}"
    assert cache_status(stack.get(path)).startswith("varnish; fwd=")
    with_cookie = stack.get(path, headers={"Cookie": "who=me", "Authorization": "Basic eDp5"})
    assert cache_status(with_cookie).startswith("varnish; hit")


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/admin/", {}),
        ("GET", "/admin/id", {}),
        ("GET", "/swf/client.swf", {}),
        ("POST", "/media/bench/tiny.html", {}),
        ("GET", "/stages/", {"Cookie": "who=me"}),
    ],
)
def test_passed(stack: Stack, method: str, path: str, headers: dict[str, str]) -> None:
    for _ in range(2):
        answer = stack.get(path, method=method, headers=headers)
        assert "hit" not in cache_status(answer).split(";")[1], answer.headers
        assert "fwd=" in cache_status(answer), answer.headers


@pytest.mark.parametrize("host", ["localhost", "classic.localhost"])
def test_a_webcam_is_asked_of_the_backend(stack: Stack, host: str) -> None:
    """Its viewers are held for seconds, each of which would take two threads of Varnish."""
    answer = stack.get("/media/video/nobody.jpg", host)
    assert answer.status_code == 404
    assert not cache_status(answer)


@pytest.mark.parametrize("host", ["localhost", "classic.localhost", "nginx.localhost", "static.localhost"])
def test_eighty_headers_are_no_reason_to_refuse(stack: Stack, host: str) -> None:
    answer = stack.get("/stages/", host, headers={f"X-{number}": "x" for number in range(80)})
    assert answer.status_code == 200


@pytest.mark.parametrize("host", ["localhost", "classic.localhost", "static.localhost"])
def test_a_date_later_than_the_files_confirms_a_copy(stack: Stack, host: str) -> None:
    modified = parsedate_to_datetime(stack.get("/media/fox.svg", host).headers["Last-Modified"])
    for seconds, status in ((-1, 200), (0, 304), (1, 304)):
        date = format_datetime(modified + timedelta(seconds=seconds), usegmt=True)
        for _ in range(2):
            answer = stack.get("/media/fox.svg", host, headers={"If-Modified-Since": date})
            assert answer.status_code == status, (date, answer.headers)


def test_an_error_is_never_stored(stack: Stack) -> None:
    path = f"/media/{uuid.uuid4().hex}.png"
    for _ in range(2):
        answer = stack.get(path)
        assert answer.status_code == 404
        assert "hit" not in cache_status(answer).split(";")[1]


def test_ranges_and_revalidation_come_from_the_cache(stack: Stack) -> None:
    whole = stack.get("/media/bench/small.swf")
    part = stack.get("/media/bench/small.swf", headers={"Range": "bytes=100-199"})
    assert part.status_code == 206
    assert part.content == whole.content[100:200]
    unchanged = stack.get("/media/bench/small.swf", headers={"If-None-Match": whole.headers["ETag"]})
    assert unchanged.status_code == 304
    assert "hit" in cache_status(unchanged)


@pytest.mark.parametrize("host", ["nobody.example", "localhost.example", "127.0.0.2"])
def test_an_unknown_host_is_misdirected(stack: Stack, host: str) -> None:
    assert stack.get("/", host).status_code == 421


@pytest.mark.parametrize(
    "host",
    ["localhost", "127.0.0.1", "[::1]", "upstage.localhost", "LOCALHOST", "classic.localhost"],
)
def test_no_answer_ever_shows_the_backends_port(stack: Stack, host: str) -> None:
    """UpStage writes its own bound port into redirects; nginx repairs them."""
    origin = f"http://{host}:{stack.ports['HTTP_PORT']}"
    for path in ("/admin", "/stages", "/admin/", "/", "/stages/demo", "/media", "/nowhere"):
        answer = stack.get(path, host)
        shown = "\n".join(f"{name}: {value}" for name, value in answer.headers.items()) + answer.text
        assert ":8081" not in shown, path
    moved = stack.get("/admin", host)
    assert moved.status_code == 302
    assert moved.headers["Location"].lower() in ("/admin/", f"{origin}/admin/".lower())


@pytest.mark.parametrize("host", ["localhost", "classic.localhost"])
def test_the_admin_can_log_in(stack: Stack, host: str) -> None:
    wrong = stack.get("/admin/login", host, "POST", data={"username": "admin", "password": "wrong"})
    assert wrong.status_code == 401
    assert ":8081" not in wrong.text

    right = stack.get(
        "/admin/login", host, "POST", data={"username": "admin", "password": stack.admin_password}
    )
    assert right.status_code == 302
    assert ":8081" not in str(right.headers)
    cookie = right.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite" in cookie
    session = {"Cookie": cookie.split(";")[0]}
    assert "Sign out" in stack.get("/admin/", host, headers=session).text
    assert "canAdmin=True" in stack.get("/admin/id", host, headers=session).text
    assert "canAdmin=False" in stack.get("/admin/id", host).text


@pytest.mark.parametrize("method", ["PURGE", "BAN"])
def test_nobody_empties_the_cache_from_outside(stack: Stack, method: str) -> None:
    assert stack.get("/media/bench/tiny.html", method=method).status_code == 405
    assert cache_status(stack.get("/media/bench/tiny.html")).startswith("varnish; hit")


@pytest.mark.parametrize(
    "path", ["/", "/stages/", "/stages/demo", "/admin/", "/media/bench/tiny.html", "/nowhere"]
)
def test_every_answer_says_what_happened(stack: Stack, path: str) -> None:
    answer = stack.get(path)
    assert cache_status(answer)
    assert "varnish" in answer.headers["Server-Timing"]
    assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["X-Request-Id"])


def test_one_request_id_in_the_logs_of_nginx_and_the_backend(stack: Stack) -> None:
    marker = f"/nowhere-{uuid.uuid4().hex}"
    stack.get(marker)

    def found() -> bool:
        lines = [line for line in stack.last_words().splitlines() if marker in line]
        ids = [set(re.findall(r"\b[0-9a-f]{32}\b", line.replace(marker, ""))) for line in lines]
        return len(lines) >= 2 and bool(set.intersection(*ids))

    wait_until(found)


def test_a_forged_address_never_reaches_the_backend(stack: Stack) -> None:
    marker = f"/nowhere-{uuid.uuid4().hex}"
    stack.get(marker, headers={"X-Forwarded-For": "192.0.2.66", "X-Real-IP": "192.0.2.66"})
    lines = [line for line in str(wait_until(lambda: stack.last_words())).splitlines() if marker in line]
    assert lines
    assert not any("192.0.2.66" in line for line in lines)
