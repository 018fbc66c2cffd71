"""Users with a browser, against a site that is healthy or breaks one promise; Locust runs in this process."""

from collections.abc import Iterator

import pytest
from locust import User

from loadtest.tests.fake_site import CAMERA, STAGE_PAGE, FakeSite, Page
from loadtest.tests.locust_library import alone, eager, reasons, run
from locustfile import Audience, Reader, WebAudience
from tests.support.origin import response
from users import http_client, paths


def test_one_user_loads_in_parallel_over_six_connections(site: FakeSite) -> None:
    site.latency = 0.3
    result = run(site, Audience, users=1, until_rows={"/script/*.js": 2})
    assert not result.failed
    assert site.most_in_flight == 6


def test_a_reload_requests_only_what_may_have_changed_and_a_newcomer_everything(site: FakeSite) -> None:
    visitor = alone(site, Audience, visit=Audience.load_stage)
    for load in (visitor.arrive, visitor.reload, visitor.reload, visitor.arrive):
        load()
    visitor.on_stop()
    some = ("/stages/demo", "/media/queen.svg", "/script/v1/main.js", "/admin/id")
    assert [site.asked[path] for path in some] == [4, 4, 2, 4]
    assert [site.revalidated[path] for path in some] == [0, 2, 0, 0]


@pytest.mark.parametrize(
    ("topology", "cookie"), [("upstage.localhost", "upstage_seen=1"), ("nginx.localhost", None)]
)
def test_a_visitor_has_the_cookie_that_the_stages_script_sets(
    site: FakeSite, topology: str, cookie: str | None
) -> None:
    visitor = alone(site, Audience, f"--topology={topology}")
    for load in (visitor.become_newcomer, visitor.load_stage, visitor.load_page) * 2:
        load()
    visitor.on_stop()
    sent = [request.headers.get("cookie") for request in site.requests if request.target == "/stages/demo"]
    assert sent == [None, cookie] * 2


def test_the_first_requests_may_all_miss(site: FakeSite) -> None:
    # Every user's requests are under way before the first response of any URL is complete.
    site.latency = 0.3
    site.hit = "varnish; hit, nginx; fwd=bypass"
    result = run(site, Audience, arguments=("--audience=stays",), until_rows={"/media/*.svg": 10})
    assert not result.failed
    assert result.requests["/media/*.svg"] == 10


def test_media_that_no_cache_had_fail(site: FakeSite) -> None:
    site.hit = site.miss = "varnish; fwd=bypass; ttl=1"
    result = run(site, eager(Audience), until_rows={"/media/*.svg": 20})
    reason = "GET /media/*.svg: /media/queen.svg: not a hit after warm-up, Cache-Status: varnish; fwd=bypass"
    assert reason in result.reasons
    assert "/media/*.svg" in result.failed
    assert "/stages/demo" not in result.failed


TRUNCATED = response(b"half", content_type="image/svg+xml", connection="close").replace(
    b"content-length: 4", b"content-length: 8"
)


@pytest.mark.parametrize(
    ("path", "sent", "reason"),
    [
        ("/stages/demo", response("<h1>Demo</h1>"), "the stage page names no media"),
        ("/stages/demo", response("", "302 Found", location="/"), "/stages/demo: status 302"),
        # The body of this 404 is not text in any encoding; nor is that of a picture.
        ("/media/queen.svg", response(b"\x89PNG\xff\xfe", "404 Not Found"), "/media/queen.svg: status 404"),
        ("/media/castle.svg", TRUNCATED, "Incomplete response"),
        ("/admin/id", response("<html>Log in</html>"), "the identity lacks canAct"),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else None,
)
def test_a_wrong_response_fails_with_its_reason(site: FakeSite, path: str, sent: bytes, reason: str) -> None:
    site.instead[path] = sent
    row = paths.row(path)
    result = run(site, Audience, users=1, until_rows={row: 2 if path.endswith(".svg") else 1})
    assert result.failed == {row}
    assert any(reason in each for each in result.reasons), result.reasons


def test_topology_and_stage_can_be_chosen(site: FakeSite) -> None:
    site.pages["/stages/other"] = Page(STAGE_PAGE.encode())
    arguments = ("--stage=other", "--topology=static.localhost")
    result = run(site, WebAudience, users=1, arguments=arguments, until_rows={"ws join": 1})
    assert not result.failed
    assert "stage join" not in result.requests
    assert {request.headers["host"] for request in site.requests} == {"static.localhost"}
    assert ("JOIN", {"stage_ID": "other"}) in site.stage.received


def test_a_reader_requests_only_files_and_has_no_browser_cache(site: FakeSite) -> None:
    result = run(site, eager(Reader), users=4, until_rows={"/stages/demo": 4, "/script/*.js": 4})
    assert not result.failed
    assert site.asked["/stages/demo"] == 4
    assert site.asked["/admin/id"] == 0
    assert not site.revalidated
    assert not site.stage.received


@pytest.mark.parametrize("user", [Audience, Reader])
def test_an_unknown_stage_is_one_failure_that_says_what_to_type(site: FakeSite, user: type[User]) -> None:
    arguments = ("--stage=nowhere",)
    result = run(site, eager(user), users=3, arguments=arguments, until_rows={"/stages/nowhere": 9})
    reason = "/stages/nowhere: status 404: there is no such stage; name another one, as in --stage=demo"
    assert result.reasons == [f"GET /stages/nowhere: {reason}"]
    assert set(site.asked) == {"/stages/nowhere"}


@pytest.fixture
def user(site: FakeSite) -> Iterator[Reader]:
    """Yield a user without a runner."""
    user = alone(site, Reader)
    yield user
    user.on_stop()


def test_a_held_response_is_waited_for_longer_than_others(site: FakeSite, user: Reader) -> None:
    user.client = http_client.session(user, patience=0.5)
    site.latency = 1.0
    asked = (CAMERA, "/speech/utter-1.mp3", "/media/queen.svg")
    assert [user.fetch(user.url(path)) for path in asked] == [True, True, False]


def test_a_browser_keeps_no_spoken_lines_and_no_webcam_pictures(site: FakeSite, user: Reader) -> None:
    site.pages[CAMERA].headers["cache-control"] = "public, no-cache"
    for path in ("/speech/utter-1.mp3", CAMERA):
        assert [user.fetch(user.url(path)) for _ in range(2)] == [True, True]
        assert site.asked[path] == 2
        assert user.browser_cache.conditions(user.url(path)) == {}


def test_a_file_that_changes_without_its_validator_fails(site: FakeSite, user: Reader) -> None:
    for body, came in (("<svg/>", True), ("<svg/>", True), ("<svg>2</svg>", False)):
        site.instead["/media/queen.svg"] = response(body, etag='"1"', cache_status=site.hit)
        assert user.fetch(user.url("/media/queen.svg")) is came
    reason = "GET /media/*.svg: /media/queen.svg: the body has changed, but its ETag has not"
    assert reasons(user.environment) == [reason]
