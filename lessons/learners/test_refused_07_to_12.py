"""Lessons 7 to 12: what is missing, and near misses, each refused by its sentence in lesson.toml."""

import json
from pathlib import Path
from typing import Any

import requests

from lessons.learners.printed import changes, solution
from lessons.learners.school import Learner
from tests.support.wait import wait_until

CLASSIC = "classic.localhost"
HOSTS = ("localhost", CLASSIC)
FOX, DIVA, GARDEN = (f"/media/{name}.svg?WORD" for name in ("fox", "diva", "moonlit-garden"))
STALE = "starter/varnish/stale.vcl"

# --- 7. Old now, new in a moment.


def watch(learner: Learner, seconds: float) -> Learner:
    """What the page's loop does."""
    for _ in range(round(seconds / 0.7)):
        learner.get("/stages/demo?WORD", method="HEAD")
        learner.wait(0.7)
    return learner


def test_lesson_07_names_each_missing_step(learner: Learner) -> None:
    """And each change that is not the lesson's."""
    learner.request("/stages/demo?WORD").refused("not-stale")
    watch(learner, 6.3).refused("shipped")
    learner.load(STALE, "ttl < -10s", "ttl < 0s").refused("none-stale")
    learner.load(STALE, "ttl < 0s", "ttl < -5s").refused("too-old")
    learner.load(STALE, "ttl < -5s", "ttl < -3s").refused("not-watched")
    watch(learner, 6.3).refused("not-left-alone")
    learner.wait(12)
    learner.request("/stages/demo?WORD").refused("not-left-alone")
    learner.refuses(
        STALE,
        ("grace = 24h", "grace = 3s", "24-hours"),
    )


# --- 8. Is mine still good?


def test_lesson_08_names_each_missing_step(learner: Learner) -> None:
    """Lookalikes do not count."""
    etag = learner.get(GARDEN, CLASSIC).headers["ETag"]
    learner.get(GARDEN, if_none_match=etag)  # nginx compares
    learner.get(GARDEN, CLASSIC, range="bytes=0-9")
    learner.request(GARDEN, CLASSIC, if_modified_since="Fri, 01 Jan 2100 00:00:00 GMT").refused("not-asked")
    learner.request(GARDEN, "static.localhost", if_none_match=etag).refused("static")
    learner.request(GARDEN, CLASSIC, if_none_match="*").refused("any")
    learner.get(GARDEN, CLASSIC, if_none_match='"another"')
    learner.get(f"{GARDEN}-2", CLASSIC, accept_encoding="identity", if_none_match=etag)  # 304, but fetched
    learner.refused("no-304")

    # A 304 for a copy, but not for the ETag of the object; then the VCL is put back.
    classic = 'sub vcl_deliver { set resp.http.ETag = {""x""}; set resp.status = 304; }'
    learner.change("varnish/classic.vcl", "", classic)
    for _ in range(2):
        assert learner.get(GARDEN, CLASSIC, if_none_match='"x"').status_code == 304
    learner.refused(r"varnish/classic\.vcl differs from the shipped file")
    learner.restore()
    learner.refused("no-304")

    own = learner.get(GARDEN, CLASSIC, "HEAD", accept_encoding="identity").headers["ETag"]
    learner.get(GARDEN, CLASSIC, "HEAD", accept_encoding="identity", if_none_match=f"W/{own}")
    learner.request(FOX).refused("not-2")
    learner.load(*changes(8)[0])
    learner.get(f"{FOX}-2")
    learner.get(f"{FOX}-3")
    copy = learner.get(f"{FOX}-2", "nginx.localhost")
    learner.get(f"{FOX}-2", "nginx.localhost", if_none_match=copy.headers["ETag"])  # 304 from the backend
    learner.refused("not-confirmed")
    learner.wait(2)
    learner.request(f"{FOX}-2").refused("restore")


# --- 9. Take it back.


def look_at_pictures(learner: Learner) -> Learner:
    """Request both on both hosts."""
    for host in HOSTS:
        for picture in (FOX, DIVA):
            learner.get(picture, host, "HEAD")
    return learner


def purge(learner: Learner, what: str) -> Learner:
    learner.stack.make("purge", what.replace("WORD", learner.word))
    return learner


def test_lesson_09_names_each_missing_step(learner: Learner) -> None:
    """Lookalikes do not count."""
    learner.refused("no-fox", "localhost")
    learner.request(FOX).refused("no-diva", "localhost")
    learner.get(DIVA)
    purge(learner, "URL=/media/fox.svg")
    look_at_pictures(learner).refused("not-warm", CLASSIC)
    purge(learner, "URL=/media/fox.svg").refused("fox-again", "localhost")
    learner.request(FOX, method="HEAD").refused("diva-again", "localhost")
    learner.request(DIVA, method="HEAD").refused("fox-again", CLASSIC)
    look_at_pictures(learner).refused("not-outside")
    learner.get(FOX, method="PURGE")
    purge(learner, "URL=/media/diva.svg")
    purge(learner, "TAG=media")
    look_at_pictures(learner).refused("no-tag")
    purge(learner, "TAG=medium-diva-svg").refused("diva-last", "localhost")


def test_lesson_09_everything_is_gone(learner: Learner) -> None:
    """A ban of everything does not count as a purge of the fox, and spoils one that follows."""
    look_at_pictures(learner)
    learner.stack.inside("varnishadm", "ban", "req.url ~ .")
    for picture in (FOX, DIVA):
        learner.get(picture, CLASSIC, "HEAD", cache_control="no-cache")
    learner.refused("not-purged")  # it says what a ban by varnishadm is
    purge(learner, f"URL={FOX}")
    learner.stack.inside("varnishadm", "ban", "req.url ~ .")
    look_at_pictures(learner).refused("diva-gone", "localhost")


def test_lesson_09_a_purge_that_all_may_send(learner: Learner) -> None:
    learner.load("starter/varnish/purge.vcl", 'if (local.socket !~ "^purge")', 'if (req.method != "PURGE")')
    look_at_pictures(learner)
    assert learner.get(FOX, method="PURGE").status_code == 200
    look_at_pictures(learner).refused(r"starter/varnish/purge\.vcl differs from the shipped file")
    learner.restore()
    learner.refused("not-purged")
    purge(learner, f"URL={FOX}")
    look_at_pictures(learner).refused("allowed", 200)


# --- 10. One copy, two sizes.

IN_VARNISH, IN_NGINX = changes(10)


def request(learner: Learner, path: str, host: str = "localhost", *accepted: str) -> Learner:
    """With each value of Accept-Encoding."""
    for value in accepted or ("gzip", "identity"):
        learner.get(path, host, accept_encoding=value)
    return learner


def gzip_in_nginx(learner: Learner) -> None:
    learner.load(*IN_NGINX)
    # nginx's new workers take over a moment later.
    wait_until(lambda: learner.get(f"{DIVA}-2", accept_encoding="gzip").headers.get("Content-Encoding"))


def test_lesson_10_names_each_missing_step(learner: Learner) -> None:
    """Lookalikes do not count."""
    learner.get(DIVA, method="HEAD", accept_encoding="gzip")
    learner.request(DIVA, method="HEAD", accept_encoding="identity").refused("not-requested")
    request(learner, "/media/letter.svg?WORD")  # 788 bytes
    request(learner, "/media/bench/small.swf?WORD").refused("not-compressed")
    request(learner, FOX, "localhost", "br", "identity").refused("no-gzip")
    learner.begin(10)
    request(learner, FOX, "localhost", "gzip")
    request(learner, FOX, CLASSIC, "identity").refused("no-identity")
    request(learner, f"{DIVA}-1", "localhost", "identity").refused("different-urls")
    request(learner, DIVA).refused("each-time")
    # A picture that no server compresses, and a download that ends early, for nginx to log fewer bytes.
    learner.send(f"GET /media/festival-winter-2.png?{learner.word} HTTP/1.1", "Accept-Encoding: gzip")
    learner.refused("each-time")
    learner.load(*IN_VARNISH)
    request(learner, f"{DIVA}-2")
    for host in (CLASSIC, "nginx.localhost"):  # there nginx compresses
        request(learner, f"{DIVA}-2", host)
    learner.request(f"{DIVA}-2", range="bytes=0-9").refused("as-it-was")
    gzip_in_nginx(learner)
    request(learner, f"{DIVA}-2").refused("restore")


def test_lesson_10_compressed_by_nginx_before_varnish_let_go(learner: Learner) -> None:
    """nginx passes on unchanged what Varnish has compressed."""
    request(learner, DIVA)
    gzip_in_nginx(learner)
    request(learner, f"{DIVA}-2").refused("each-time")


# --- 11. A line kept open.

SITE = "nginx/sites/classic.localhost.conf"
(POOL,) = (block.text for block in solution(11) if block.language == "nginx")  # the other way


def test_lesson_11_one_near_miss_after_the_other(learner: Learner) -> None:
    learner.refused("thirty")
    learner.series(f"{FOX}-default-{{}}", 30).refused("default-host")
    with requests.Session() as client:  # as one curl with thirty URLs: its own connection is kept, no other
        for number in range(30):
            url = learner.stack.url(f"/media/fox.svg?{learner.word}-{number}", "127.0.0.1")
            client.get(url, headers={"Host": CLASSIC})
    learner.refused("too-many", 30, "HTTP/1.0")
    learner.load(SITE, "http://$varnish_tcp", "http://backend").refused("around-varnish", 0)
    learner.edit(SITE, "http://backend", "http://$varnish_tcp")
    learner.load(SITE, "        proxy_http_version 1.0;\n", "")
    learner.series(f"{FOX}-still-{{}}", 30, CLASSIC).refused("too-many", 30, "HTTP/1.1")
    learner.edit(SITE, "http://$varnish_tcp", "http://varnish").refused("nginx has not loaded what is saved")
    learner.reload().refused("not-seen")
    learner.series(f"{FOX}-after-{{}}", 30, CLASSIC).refused("no-http2")
    learner.send(f"GET /media/fox.svg?{learner.word} HTTP/2.0").refused(
        "no-http2"
    )  # a version that was typed


def test_lesson_11_changed_before_it_was_seen(learner: Learner) -> None:
    """By a pool of connections, in the version of HTTP that has them."""
    learner.edit(SITE, "server {\n", f"{POOL}\nserver {{\n")
    learner.edit(SITE, "http://$varnish_tcp", "http://kept")
    learner.load(SITE, "        proxy_http_version 1.0;\n", "").wait(2)  # until the workers are replaced
    learner.series(f"{FOX}-after-{{}}", 30, CLASSIC).refused("few-before")


# --- 12. Slashdot.


def measurement(topology: str, **figures: object) -> dict[str, Any]:
    """A line of a report, as `make compare` writes it, as far as the check reads it."""
    return {"topology": topology, "users": 50, "seconds": 30.0, "verdict": "PASS", "reason": "", **figures}


def write(learner: Learner, **nginx: object) -> Learner:
    """An invented report."""
    report(learner, [measurement("default"), measurement("nginx", **nginx)])
    return learner


def report_file(learner: Learner) -> Path:
    """Where `make compare` writes its report."""
    return learner.folder / ".run" / learner.stack.project / "compare" / "report.json"


def report(learner: Learner, measurements: list[dict[str, Any]]) -> Learner:
    """Write one with these measurements."""
    file = report_file(learner)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"measurements": measurements}))
    return learner


def excuse_a_busy_machine(learner: Learner) -> None:
    """On a busy machine Locust is the limit, and the check says so; all other evidence is the same."""
    measured = json.loads(report_file(learner).read_text())["measurements"]
    if "INCONCLUSIVE" in [one["verdict"] for one in measured]:
        learner.refused("locust")
        report(learner, [{**one, "verdict": "PASS"} for one in measured])


def test_lesson_12_reports_that_are_not_enough(learner: Learner) -> None:
    learner.refused("not-compared")
    write(learner)
    learner.wait(1)
    learner.begin(12)  # that report is of an earlier attempt
    learner.refused("not-compared")
    report(learner, [measurement("default")]).refused("topologies", "default")
    write(learner, users=40).refused("different-users", 50, 40)
    report(learner, [measurement(name, users=20) for name in ("default", "nginx")])
    learner.refused("few-users", 20)
    write(learner, seconds=10.0).refused("short")
    write(learner, verdict="INCONCLUSIVE", reason="timers were late")
    learner.refused("locust", "nginx", "timers were late")
