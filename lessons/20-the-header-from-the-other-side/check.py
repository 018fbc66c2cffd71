"""The application's own headers, as Varnish and nginx obey them; then one that poisons a copy."""

from checking import Ask, Attempt, Choice, Probe, Question

HOST = "site.localhost"

QUESTION = Question(
    right=Choice(
        "Each value of the header gets its own copy.",
        "The attacker reaches only those who send the same header, but can fill the cache.",
    ),
    wrong=(
        Choice(
            "Varnish no longer stores what has the header.",
            "It stores each, under its own value: a second request with that value is a hit.",
        ),
        Choice(
            "nginx removes the header before Varnish.",
            "nginx removes those that frameworks believe, and knows nothing of X-Skin.",
        ),
        Choice(
            "The application ignores the header now.",
            "That would be the better cure, but headers.toml cannot do it: the page still reads it.",
        ),
    ),
)


def check(attempt: Attempt) -> None:
    """One page after the other, with requests that no client has made before; the learner's own first."""
    need = attempt.need
    asked = attempt.requests("", HOST)
    need(
        asked,
        "Request /price?WORD on site.localhost first. If nothing answers there: make up EXTRAS=site "
        "SITE=http://127.0.0.1:5000 WITH=upstage, then begin the lesson again.",
    )
    need(
        any(request.path == "/price" and not request.lifetime and request.fetches for request in asked),
        "Request /price?WORD as it is first: what do caches make of a page that says nothing?",
    )

    need(
        attempt.as_shipped("starter"),
        "The files in starter/ are changed. This lesson is about the application.",
    )
    first, again = twice(attempt, "/price?NEW")
    control = first.answer.headers.get("cache-control", "")
    need(
        first.answer.status == 200,
        f"/price is answered with {first.answer.status}: is the application running?",
    )
    need(
        first.lifetime == 10 and again.outcome == "hit",
        f"/price: Varnish keeps a copy for {first.lifetime} s; the page asks for 10.",
    )
    need(
        "max-age=0" in control.replace(" ", "").split(","),
        f"/price says Cache-Control: {control}. A browser is to ask each time: max-age=0 is for all caches, "
        "s-maxage for those of many clients.",
    )

    (drawn,) = attempt.ask(Ask("/greeting?NEW", HOST, headers={"Accept-Language": "de"}))
    for language, word in (("de", "Guten Abend"), ("fr", "Bonsoir"), ("en", "Good evening")):
        first, again = twice(attempt, drawn.ask.url, {"Accept-Language": language})
        text = again.answer.body.decode(errors="replace").partition("\n")[0]
        need(
            text == word and again.outcome == "hit",
            f"/greeting: a reader of {language} got '{text}', by a {again.outcome}. Every language needs its "
            "own copy, for a minute.",
        )

    first, again = twice(attempt, "/report?NEW")
    confirmed = again.seen and any("304" in fetch.all("BerespStatus") for fetch in again.seen.fetches)
    need(
        confirmed and first.answer.body == again.answer.body,
        "/report: the second request should be answered from a copy that the application has confirmed, by a "
        "304: no-cache and an ETag.",
    )

    news = [request for request in asked if request.path == "/news"]
    poison = {request.header("X-Skin") for request in news} - {""}
    seen = any(
        value in request.last.header("Link", "RespHeader")
        for request in news
        for value in poison
        if not request.header("X-Skin")
    )
    need(
        seen,
        "You have not poisoned /news?WORD yet: request it with -H 'X-Skin: https://evil.example/skin', then "
        "without, before you cure it. What is in Link?",
    )
    evil = "https://evil.example/NEW"
    _, victim, friend = attempt.ask(
        Ask("/news?NEW", HOST, headers={"X-Skin": evil}), Ask("/news?NEW", HOST), Ask("/news?NEW", HOST)
    )
    need(
        "evil" not in victim.answer.headers.get("link", ""),
        "/news: a visitor still gets the attacker's Link. What does the page depend on, and does it say so?",
    )
    need(friend.outcome == "hit", "/news is no longer kept at all. It can be, without the poison.")


def twice(attempt: Attempt, url: str, headers: dict[str, str] | None = None) -> list[Probe]:
    """The same request two times, more than a second apart: nginx has forgotten its copy."""
    (first,) = attempt.ask(Ask(url, HOST, headers=headers or {}))
    attempt.wait()
    (again,) = attempt.ask(Ask(first.ask.url, HOST, headers=headers or {}))
    return [first, again]
