"""Lesson 13: a page in two parts."""

from printed import changes
from school import Pupil

((FILE, _, RULE),) = changes(13)
CONDITION = 'beresp.http.Surrogate-Control ~ "ESI/1.0"'
ESI = "set beresp.do_esi = true;"
HEADER = "unset beresp.http.Surrogate-Control;"


def look(pupil: Pupil, query: str, times: int) -> None:
    """What the page says: every two seconds."""
    for _ in range(times):
        pupil.get(f"/playbill?WORD-{query}")
        pupil.wait(2)


def test_one_near_miss_after_the_other(pupil: Pupil) -> None:
    pupil.refused(r"Request /playbill\?k\w+ first")

    pupil.get("/playbill?WORD")
    pupil.append(FILE, RULE.replace(CONDITION, 'bereq.url !~ "/id"').replace(HEADER, ""))
    pupil.refused(r"store\.vcl is saved, but Varnish has not loaded it")

    pupil.reload()
    pupil.get("/playbill?WORD")
    pupil.refused("No page with your word was assembled yet")

    look(pupil, "2", times=1)
    pupil.refused("You have seen the assembled page once")

    pupil.get("/playbill?WORD-2")
    pupil.refused("The browser still gets Surrogate-Control")

    pupil.edit(FILE, ESI, f"{ESI} {HEADER}")
    pupil.reload()
    pupil.refused("Varnish parses /stages/ for instructions too")


def test_changed_before_it_was_seen(pupil: Pupil) -> None:
    pupil.rule(FILE, RULE)
    look(pupil, "2", times=2)
    pupil.refused("Look at the page before you change the rule")


def test_lifetimes(pupil: Pupil) -> None:
    """A page that is as new as its number, a number that is as old as its page, and none at all."""
    pupil.get("/playbill?WORD")
    pupil.rule(FILE, RULE)
    look(pupil, "2", times=2)

    pupil.edit(FILE, ESI, f"{ESI} set beresp.ttl = 1s;")
    pupil.reload()
    pupil.refused("the page was not a hit but stale: it should be kept for a minute")

    pupil.edit(FILE, " set beresp.ttl = 1s;", "")
    pupil.append(
        FILE, 'sub vcl_backend_response { if (bereq.url ~ "/audience") { set beresp.ttl = 60s; } }\n'
    )
    pupil.reload()
    pupil.stack.make("purge", "URL=/playbill/audience")
    pupil.refused("The number is as old as the page")

    pupil.edit(FILE, ESI, "")
    pupil.reload()
    pupil.refused("A page fetched now is not assembled")
