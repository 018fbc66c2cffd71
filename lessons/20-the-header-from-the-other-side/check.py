"""The application's own headers, as Varnish and nginx obey them; then a header that poisons a copy."""

from lessons.checking import Ask, Laboratory, Need, Probe

HOST = "app.localhost"


def check(lab: Laboratory, need: Need) -> None:
    """Check the learner's requests; then page after page, with requests that no client has made before."""
    asked = lab.requests("", HOST)
    need(asked, "not-requested")
    prices = [request for request in asked if request.path == "/price" and request.fetches]
    need(any(not request.lifetime for request in prices), "changed-first")
    need(lab.as_shipped("starter"), "starter")
    first, again = twice(lab, "/price?NEW")
    control = first.response.headers.get("cache-control", "")
    need(first.response.status == 200, "no-answer", first.response.status)
    need(first.lifetime == 10 and again.outcome == "hit", "not-10", first.lifetime)
    need("max-age=0" in control.replace(" ", "").split(","), "max-age", control)

    (drawn,) = lab.ask(Ask("/greeting?NEW", HOST, headers={"Accept-Language": "de"}))
    for language, word in (("de", "Guten Abend"), ("fr", "Bonsoir"), ("en", "Good evening")):
        first, again = twice(lab, drawn.ask.url, {"Accept-Language": language})
        text = again.response.body.decode(errors="replace").partition("\n")[0]
        need(text == word and again.outcome == "hit", "greeting", language, text, again.outcome)

    first, again = twice(lab, "/report?NEW")
    confirmed = again.seen and any("304" in fetch.all("BerespStatus") for fetch in again.seen.fetches)
    need(confirmed and first.response.body == again.response.body, "report")

    news = [request for request in asked if request.path == "/news"]
    poison = {request.header("Referer") for request in news} - {""}
    links = [one.last.header("Link", "RespHeader") for one in news if not one.header("Referer")]
    need(any(value in link for link in links for value in poison), "not-poisoned")
    evil = {"Referer": "https://evil.example/NEW"}
    page = Ask("/news?NEW", HOST)
    _, victim, friend = lab.ask(Ask(page.url, HOST, headers=evil), page, page)
    need("evil" not in victim.response.headers.get("link", ""), "poisoned")
    need(friend.outcome == "hit", "not-kept")


def twice(lab: Laboratory, url: str, headers: dict[str, str] | None = None) -> list[Probe]:
    """Send the same request twice, more than a second apart, so that nginx has dropped its copy."""
    (first,) = lab.ask(Ask(url, HOST, headers=headers or {}))
    lab.wait()
    (again,) = lab.ask(Ask(first.ask.url, HOST, headers=headers or {}))
    return [first, again]
