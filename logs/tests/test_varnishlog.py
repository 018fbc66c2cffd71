"""Reading varnishlog's output: some is recorded from varnishlog 7.7, some written for rare cases."""

from pathlib import Path

from logs.varnishlog import requests

CAPTURED = Path(__file__).parent / "captured" / "varnish.txt"

ASSEMBLED = """\
*   << Request  >> 10
-   Begin          req 9 rxreq
-   Timestamp      Start: 1700000000.5 0.0 0.0
-   ReqMethod      GET
-   VCL_use        default_1
-   ReqURL         /playbill?k1
-   ReqHeader      host: LOCALHOST:8080
-   VCL_call       RECV
-   VCL_call       HASH
-   Hit            5 50.5 86400 3600
-   Timestamp      Waitinglist: 1700000000.7 0.2 0.2
-   VCL_call       HIT
-   Timestamp      Resp: 1700000000.75 0.25 0.05
-   Link           req 11 esi 1
-   RespStatus     200
-   ReqAcct        80 0 80 300 1234 1534
**  << Request  >> 11
--  Begin          req 10 esi 1
--  ReqURL         /playbill/audience
--  VCL_call       MISS
--  Link           bereq 12 fetch
*** << BeReq    >> 12
--- Begin          bereq 11 fetch
--- TTL            VCL 1 10 0 1700000000 cacheable
*   << Request  >> 20
-   Begin          req 19 rxreq
-   Timestamp      Start: 1700000001.5 0.0 0.0
-   ReqURL         /stages/?k1
-   VCL_call       MISS
-   VCL_call       DELIVER
-   Link           bereq 21 fetch
**  << BeReq    >> 21
--  Begin          bereq 20 fetch
--  FetchError     backend upstage: unhealthy
"""


HERD = """\
*   << Request  >> 30
-   Begin          req 29 rxreq
-   Timestamp      Start: 1700000000.100 0.0 0.0
-   ReqURL         /a
-   Timestamp      Waitinglist: 1700000000.401 0.301 0.301
-   VCL_call       HIT
-   Timestamp      Resp: 1700000000.402 0.302 0.001
*   << Request  >> 32
-   Begin          req 31 rxreq
-   Timestamp      Start: 1700000000.102 0.0 0.0
-   ReqURL         /a
-   VCL_call       MISS
-   Timestamp      Process: 1700000000.401 0.299 0.299
-   Timestamp      Resp: 1700000000.403 0.301 0.002
*   << Request  >> 34
-   Begin          req 33 rxreq
-   Timestamp      Start: 1700000000.500 0.0 0.0
-   ReqURL         /a
-   VCL_call       HIT
-   Timestamp      Resp: 1700000000.501 0.001 0.001
"""


def test_of_requests_that_came_together_none_is_after_another() -> None:
    waiting, fetching, late = requests(HERD.splitlines())
    assert waiting.began < fetching.began
    assert not fetching.after(waiting)
    assert not waiting.after(fetching)
    assert late.after(waiting)
    assert late.after(fetching)


def test_a_page_has_its_parts() -> None:
    page, other = requests(ASSEMBLED.splitlines())
    assert (page.url, page.path, page.host) == ("/playbill?k1", "/playbill", "localhost")
    assert (page.outcome, page.object, page.remaining, page.connection) == ("hit", 5, 50.5, "9")
    assert (page.vcl, page.waited, page.body_sent) == ("default_1", True, 1234)
    assert (page.answered, page.ended) == (1700000000.7, 1700000000.75)
    [part] = page.parts
    assert (part.url, part.outcome, part.lifetime, part.object) == ("/playbill/audience", "miss", 1, 12)
    assert (part.grace, page.grace, other.waited) == (10, 0, False)
    assert not page.fetches
    assert not other.parts
    assert (page.found_sick, other.found_sick) == (False, True)


def test_a_second_attempt_is_the_same_request() -> None:
    log = CAPTURED.read_text().splitlines()
    [failed] = (each for each in requests(log) if each.url == "/stages/?pine-2")
    assert (failed.outcome, failed.status, failed.last.xid) == ("error", 503, 33055)
    assert [each.xid for each in failed.restarts] == [33055]
    assert [each.reason for each in failed.fetches] == ["fetch", "retry"]
    assert not failed.found_sick


def test_nothing_is_no_request() -> None:
    assert list(requests([])) == []
    assert list(requests(["*   << BeReq    >> 5", "-   Begin          bereq 4 bgfetch"])) == []
