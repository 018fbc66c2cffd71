"""Browsers with different headers but the same language share one copy; each language still has its own."""

from lessons.checking import Ask, Laboratory, Need, outcomes


def wants(language: str) -> Ask:
    """Return a request for the greeting, from a browser with this Accept-Language."""
    return Ask("/welcome?NEW", headers={"Accept-Language": language})


def check(lab: Laboratory, need: Need) -> None:
    """Check readers of each language, three of German, and another page; then the learner's own requests."""
    asked = lab.requests("/welcome")
    languages = {request.header("Accept-Language") for request in asked}
    need(len(languages) >= 3, "three-languages")

    german = lab.ask(wants("de"), wants("de-AT,de;q=0.9"), wants("de-CH;q=0.9,en;q=0.5"))
    need({probe.response.headers.get("content-language") for probe in german} == {"de"}, "not-german")
    varies = [probe.response.headers.get("vary", "").lower() for probe in german]
    need(all("accept-language" in names for names in varies), "no-vary")
    need(outcomes(german) == ["miss", "hit", "hit"], "not-shared", ", ".join(outcomes(german)))
    others = lab.ask(wants("fr-CA"), wants("mi"), wants("en-NZ"), wants("*"), Ask("/welcome?NEW"))
    spoken = [probe.response.headers.get("content-language", "none") for probe in others]
    need(spoken == ["fr", "mi", "en", "en", "en"], "wrong-languages", ", ".join(spoken))
    need(outcomes(others) == ["miss", "miss", "miss", "hit", "hit"], "copies", ", ".join(outcomes(others)))
    (plain,) = lab.ask(Ask("/welcome", headers={"Accept-Language": "fr-CA"}))
    need(plain.response.headers.get("content-language") == "fr", "without-query")
    (page,) = lab.ask(Ask("/?NEW", headers={"Accept-Language": "fr-CA"}))
    need(page.sent_on("Accept-Language") == "fr-CA", "welcome-only")

    readers: dict[int, set[str]] = {}
    for request in asked:
        readers.setdefault(request.object, set()).add(request.header("Accept-Language"))
    need(any(len(found) >= 3 for found in readers.values()), "not-seen")
