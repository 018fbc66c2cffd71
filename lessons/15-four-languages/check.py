"""Browsers with different headers but the same language share one copy; each language still gets its own."""

from checking import Ask, Attempt, Choice, Question, outcomes

CHANGES = {"varnish/normalise.vcl"}
READS = {"req.http.accept-language"}

QUESTION = Question(
    right=Choice(
        "It stores thousands of copies and seldom finds one.",
        "One for each version of each browser: many misses, much memory.",
    ),
    wrong=(
        Choice("It stores one copy, and ignores the header.", "Then a phone would get the desktop page."),
        Choice("It stores nothing, and passes each request.", "They are stored, each under its own value."),
        Choice(
            "It stores two copies, one for phones and one for the rest.",
            "It compares the whole header, which hardly any two browsers share.",
        ),
    ),
)


def wants(language: str) -> Ask:
    """The greeting, for a browser with this Accept-Language."""
    return Ask("/welcome?NEW", headers={"Accept-Language": language})


def check(attempt: Attempt) -> None:
    """Check readers of each language, three of German, and another page; then the learner's requests."""
    need = attempt.need

    asked = attempt.requests("/welcome")
    languages = {request.header("Accept-Language") for request in asked}
    need(len(languages) >= 3, "Request /welcome?WORD with three different Accept-Language first.")

    german = attempt.ask(wants("de"), wants("de-AT,de;q=0.9"), wants("de-CH;q=0.9,en;q=0.5"))
    need(
        {probe.answer.headers.get("content-language") for probe in german} == {"de"},
        "A reader of German got another language.",
    )
    need(
        all("accept-language" in probe.answer.headers.get("vary", "").lower() for probe in german),
        "Vary must stay: browsers and other caches, nginx among them, need to know.",
    )
    need(
        outcomes(german) == ["miss", "hit", "hit"],
        f"Three readers of German were {', '.join(outcomes(german))}: they should share one copy.",
    )
    others = attempt.ask(wants("fr-CA"), wants("mi"), wants("en-NZ"), wants("*"), Ask("/welcome?NEW"))
    spoken = [probe.answer.headers.get("content-language", "none") for probe in others]
    need(
        spoken == ["fr", "mi", "en", "en", "en"],
        f"Readers of fr-CA, mi, en-NZ, anything and nothing in particular got {', '.join(spoken)}.",
    )
    need(
        outcomes(others) == ["miss", "miss", "miss", "hit", "hit"],
        "The other languages should have one copy each, and the rest the English one. Readers of fr-CA, mi, "
        f"en-NZ, anything and nothing in particular were {', '.join(outcomes(others))}.",
    )
    (plain,) = attempt.ask(Ask("/welcome", headers={"Accept-Language": "fr-CA"}))
    need(
        plain.answer.headers.get("content-language") == "fr",
        "A reader of French who asks for /welcome without a query got another language.",
    )
    (page,) = attempt.ask(Ask("/?NEW", headers={"Accept-Language": "fr-CA"}))
    need(
        page.sent_on("Accept-Language") == "fr-CA",
        "The rule is for /welcome only: other pages may need more than the language.",
    )

    readers: dict[int, set[str]] = {}
    for request in asked:
        readers.setdefault(request.object, set()).add(request.header("Accept-Language"))
    need(
        any(len(found) >= 3 for found in readers.values()),
        "The rule works, but you have not seen it: repeat the loop with another query, /welcome?WORD-2.",
    )
