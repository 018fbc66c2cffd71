"""Lessons 7 to 12: what is missing, and near misses, each refused by its sentence in lesson.toml."""

import json
from pathlib import Path
from typing import Any

import requests

from lessons.pupils.printed import changes, solution
from lessons.pupils.school import Pupil
from tests.support.wait import wait_until

CLASSIC = "classic.localhost"
HOSTS = ("localhost", CLASSIC)
FOX, DIVA, GARDEN = (f"/media/{name}.svg?WORD" for name in ("fox", "diva", "moonlit-garden"))
STALE = "starter/varnish/stale.vcl"

# --- 7. Old now, new in a moment.


def watch(pupil: Pupil, seconds: float) -> Pupil:
    """What the page's loop does."""
    for _ in range(round(seconds / 0.7)):
        pupil.get("/stages/demo?WORD", method="HEAD")
        pupil.wait(0.7)
    return pupil


def test_lesson_07_names_each_missing_step(pupil: Pupil) -> None:
    """And each change that is not the lesson's."""
    pupil.request("/stages/demo?WORD").refused("not-stale")
    watch(pupil, 6.3).refused("shipped")
    pupil.load(STALE, "ttl < -10s", "ttl < 0s").refused("none-stale")
    pupil.load(STALE, "ttl < 0s", "ttl < -5s").refused("too-old")
    pupil.load(STALE, "ttl < -5s", "ttl < -3s").refused("not-watched")
    watch(pupil, 6.3).refused("not-left-alone")
    pupil.wait(12)
    pupil.request("/stages/demo?WORD").refused("not-left-alone")
    pupil.refuses(
        STALE,
        ("grace = 24h", "grace = 3s", "24-hours"),
    )


# --- 8. Is mine still good?


def test_lesson_08_names_each_missing_step(pupil: Pupil) -> None:
    """Lookalikes do not count."""
    etag = pupil.get(GARDEN, CLASSIC).headers["ETag"]
    pupil.get(GARDEN, if_none_match=etag)  # nginx compares
    pupil.get(GARDEN, CLASSIC, range="bytes=0-9")
    pupil.request(GARDEN, CLASSIC, if_modified_since="Fri, 01 Jan 2100 00:00:00 GMT").refused("not-asked")
    pupil.request(GARDEN, "static.localhost", if_none_match=etag).refused("static")
    pupil.request(GARDEN, CLASSIC, if_none_match="*").refused("any")
    pupil.get(GARDEN, CLASSIC, if_none_match='"another"')
    pupil.get(f"{GARDEN}-2", CLASSIC, accept_encoding="identity", if_none_match=etag)  # 304, but fetched
    pupil.refused("no-304")

    # A 304 for a copy, but not for the ETag of the object; then the VCL is put back.
    classic = 'sub vcl_deliver { set resp.http.ETag = {""x""}; set resp.status = 304; }'
    pupil.change("varnish/classic.vcl", "", classic)
    for _ in range(2):
        assert pupil.get(GARDEN, CLASSIC, if_none_match='"x"').status_code == 304
    pupil.refused(r"varnish/classic\.vcl differs from the shipped file")
    pupil.restore()
    pupil.refused("no-304")

    own = pupil.get(GARDEN, CLASSIC, "HEAD", accept_encoding="identity").headers["ETag"]
    pupil.get(GARDEN, CLASSIC, "HEAD", accept_encoding="identity", if_none_match=f"W/{own}")
    pupil.request(FOX).refused("not-2")
    pupil.load(*changes(8)[0])
    pupil.get(f"{FOX}-2")
    pupil.get(f"{FOX}-3")
    copy = pupil.get(f"{FOX}-2", "nginx.localhost")
    pupil.get(f"{FOX}-2", "nginx.localhost", if_none_match=copy.headers["ETag"])  # 304 from the backend
    pupil.refused("not-confirmed")
    pupil.wait(2)
    pupil.request(f"{FOX}-2").refused("restore")


# --- 9. Take it back.


def look_at_pictures(pupil: Pupil) -> Pupil:
    """Request both on both hosts."""
    for host in HOSTS:
        for picture in (FOX, DIVA):
            pupil.get(picture, host, "HEAD")
    return pupil


def purge(pupil: Pupil, what: str) -> Pupil:
    pupil.stack.make("purge", what.replace("WORD", pupil.word))
    return pupil


def test_lesson_09_names_each_missing_step(pupil: Pupil) -> None:
    """Lookalikes do not count."""
    pupil.refused("no-fox", "localhost")
    pupil.request(FOX).refused("no-diva", "localhost")
    pupil.get(DIVA)
    purge(pupil, "URL=/media/fox.svg")
    look_at_pictures(pupil).refused("not-warm", CLASSIC)
    purge(pupil, "URL=/media/fox.svg").refused("fox-again", "localhost")
    pupil.request(FOX, method="HEAD").refused("diva-again", "localhost")
    pupil.request(DIVA, method="HEAD").refused("fox-again", CLASSIC)
    look_at_pictures(pupil).refused("not-outside")
    pupil.get(FOX, method="PURGE")
    purge(pupil, "URL=/media/diva.svg")
    purge(pupil, "TAG=media")
    look_at_pictures(pupil).refused("no-tag")
    purge(pupil, "TAG=medium-diva-svg").refused("diva-last", "localhost")


def test_lesson_09_everything_is_gone(pupil: Pupil) -> None:
    """A ban of everything does not count as a purge of the fox, and spoils one that follows."""
    look_at_pictures(pupil)
    pupil.stack.inside("varnishadm", "ban", "req.url ~ .")
    for picture in (FOX, DIVA):
        pupil.get(picture, CLASSIC, "HEAD", cache_control="no-cache")
    pupil.refused("not-purged")  # it says what a ban by varnishadm is
    purge(pupil, f"URL={FOX}")
    pupil.stack.inside("varnishadm", "ban", "req.url ~ .")
    look_at_pictures(pupil).refused("diva-gone", "localhost")


def test_lesson_09_a_purge_that_all_may_send(pupil: Pupil) -> None:
    pupil.load("starter/varnish/purge.vcl", 'if (local.socket !~ "^purge")', 'if (req.method != "PURGE")')
    look_at_pictures(pupil)
    assert pupil.get(FOX, method="PURGE").status_code == 200
    look_at_pictures(pupil).refused(r"starter/varnish/purge\.vcl differs from the shipped file")
    pupil.restore()
    pupil.refused("not-purged")
    purge(pupil, f"URL={FOX}")
    look_at_pictures(pupil).refused("allowed", 200)


# --- 10. One copy, two sizes.

IN_VARNISH, IN_NGINX = changes(10)


def request(pupil: Pupil, path: str, host: str = "localhost", *accepted: str) -> Pupil:
    """With each value of Accept-Encoding."""
    for value in accepted or ("gzip", "identity"):
        pupil.get(path, host, accept_encoding=value)
    return pupil


def gzip_in_nginx(pupil: Pupil) -> None:
    pupil.load(*IN_NGINX)
    # nginx's new workers take over a moment later.
    wait_until(lambda: pupil.get(f"{DIVA}-2", accept_encoding="gzip").headers.get("Content-Encoding"))


def test_lesson_10_names_each_missing_step(pupil: Pupil) -> None:
    """Lookalikes do not count."""
    pupil.get(DIVA, method="HEAD", accept_encoding="gzip")
    pupil.request(DIVA, method="HEAD", accept_encoding="identity").refused("not-requested")
    request(pupil, "/media/letter.svg?WORD")  # 788 bytes
    request(pupil, "/media/bench/small.swf?WORD").refused("not-compressed")
    request(pupil, FOX, "localhost", "br", "identity").refused("no-gzip")
    pupil.begin(10)
    request(pupil, FOX, "localhost", "gzip")
    request(pupil, FOX, CLASSIC, "identity").refused("no-identity")
    request(pupil, f"{DIVA}-1", "localhost", "identity").refused("different-urls")
    request(pupil, DIVA).refused("each-time")
    # A picture that no server compresses, and a download that ends early, for nginx to log fewer bytes.
    pupil.send(f"GET /media/festival-winter-2.png?{pupil.word} HTTP/1.1", "Accept-Encoding: gzip")
    pupil.refused("each-time")
    pupil.load(*IN_VARNISH)
    request(pupil, f"{DIVA}-2")
    for host in (CLASSIC, "nginx.localhost"):  # there nginx compresses
        request(pupil, f"{DIVA}-2", host)
    pupil.request(f"{DIVA}-2", range="bytes=0-9").refused("as-it-was")
    gzip_in_nginx(pupil)
    request(pupil, f"{DIVA}-2").refused("restore")


def test_lesson_10_compressed_by_nginx_before_varnish_let_go(pupil: Pupil) -> None:
    """nginx passes on unchanged what Varnish has compressed."""
    request(pupil, DIVA)
    gzip_in_nginx(pupil)
    request(pupil, f"{DIVA}-2").refused("each-time")


# --- 11. A line kept open.

SITE = "nginx/sites/classic.localhost.conf"
(POOL,) = (block.text for block in solution(11) if block.language == "nginx")  # the other way


def test_lesson_11_one_near_miss_after_the_other(pupil: Pupil) -> None:
    pupil.refused("thirty")
    pupil.series(f"{FOX}-default-{{}}", 30).refused("default-host")
    with requests.Session() as client:  # as one curl with thirty URLs: its own connection is kept, no other
        for number in range(30):
            url = pupil.stack.url(f"/media/fox.svg?{pupil.word}-{number}", "127.0.0.1")
            client.get(url, headers={"Host": CLASSIC})
    pupil.refused("too-many", 30, "HTTP/1.0")
    pupil.load(SITE, "http://$varnish_tcp", "http://backend").refused("around-varnish", 0)
    pupil.edit(SITE, "http://backend", "http://$varnish_tcp")
    pupil.load(SITE, "        proxy_http_version 1.0;\n", "")
    pupil.series(f"{FOX}-still-{{}}", 30, CLASSIC).refused("too-many", 30, "HTTP/1.1")
    pupil.edit(SITE, "http://$varnish_tcp", "http://varnish").refused("nginx has not loaded what is saved")
    pupil.reload().refused("not-seen")
    pupil.series(f"{FOX}-after-{{}}", 30, CLASSIC).refused("no-http2")
    pupil.send(f"GET /media/fox.svg?{pupil.word} HTTP/2.0").refused("no-http2")  # a version that was typed


def test_lesson_11_changed_before_it_was_seen(pupil: Pupil) -> None:
    """By a pool of connections, in the version of HTTP that has them."""
    pupil.edit(SITE, "server {\n", f"{POOL}\nserver {{\n")
    pupil.edit(SITE, "http://$varnish_tcp", "http://kept")
    pupil.load(SITE, "        proxy_http_version 1.0;\n", "").wait(2)  # until the workers are replaced
    pupil.series(f"{FOX}-after-{{}}", 30, CLASSIC).refused("few-before")


# --- 12. Slashdot.


def measurement(topology: str, tier: str, answers: int, **figures: object) -> dict[str, Any]:
    """A line of a report, as `make compare` writes it."""
    caches = [{"row": "/", "tier": tier, "outcome": "hit", "answers": answers}]
    run = {"users": 50, "seconds": 30.0, "verdict": "PASS", "reason": "", "backend_requests_per_second": 1.0}
    return {"topology": topology, **run, "caches": caches, **figures}


def write(pupil: Pupil, **nginx: object) -> Pupil:
    """An invented report."""
    report(pupil, [measurement("default", "varnish", 600), measurement("nginx", "backend", 600, **nginx)])
    return pupil


def report_file(pupil: Pupil) -> Path:
    """Where `make compare` writes its report."""
    return pupil.folder / ".run" / pupil.stack.project / "compare" / "report.json"


def report(pupil: Pupil, measurements: list[dict[str, Any]]) -> Pupil:
    """Write one with these measurements."""
    file = report_file(pupil)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"measurements": measurements}))
    return pupil


def excuse_a_busy_machine(pupil: Pupil) -> None:
    """On a busy machine Locust is the limit, and the check says so; all other evidence is the same."""
    measured = json.loads(report_file(pupil).read_text())["measurements"]
    if "INCONCLUSIVE" in [one["verdict"] for one in measured]:
        pupil.refused("locust")
        report(pupil, [{**one, "verdict": "PASS"} for one in measured])


def test_lesson_12_reports_that_are_not_enough(pupil: Pupil) -> None:
    pupil.refused("not-compared")
    write(pupil)
    pupil.wait(1)
    pupil.begin(12)  # that report is of an earlier attempt
    pupil.refused("not-compared")
    report(pupil, [measurement("default", "varnish", 600)]).refused("topologies", "default")
    write(pupil, users=40).refused("different-users", 50, 40)
    report(pupil, [measurement(name, "varnish", 600, users=20) for name in ("default", "nginx")])
    pupil.refused("few-users", 20)
    write(pupil, seconds=10.0).refused("short")
    write(pupil, verdict="INCONCLUSIVE", reason="timers were late")
    pupil.refused("locust", "nginx", "timers were late")
