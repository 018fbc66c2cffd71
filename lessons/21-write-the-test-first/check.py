"""A VTC that fails without the rule and passes with it; then the rule itself."""

import tempfile
from pathlib import Path

from checking import CHECKOUT, Ask, Attempt, Choice, Question, shipped

TEST = "varnish/tests/newsletter.vtc"
FILE = "varnish/normalise.vcl"
CHANGES = {FILE, TEST}

QUESTION = Question(
    right=Choice(
        "It fails, and only the mock server says why.",
        "The server's expect stops the test at the URL that came: the log of -v has both.",
    ),
    wrong=(
        Choice(
            "It passes: the client gets its page.",
            "A client does get one. But what the server expects is part of the test.",
        ),
        Choice(
            "It waits until the 60 seconds are over.",
            "A VTC that waits is one whose server never gets the request it is waiting for.",
        ),
        Choice(
            "Varnish refuses to load the file.",
            "A rule that does too much is a valid rule: that is why there is a test.",
        ),
    ),
)

# What the test must tell from each other: the shipped rules with one of these at the end; the learner's own.
RULES = {
    "shipped": "",
    "right": r"""
sub vcl_recv {
    set req.url = regsuball(req.url, "([?&])reader=[^&]*(&|$)", "\1");
    set req.url = regsub(req.url, "[?&]$", "");
}
""",
    "no-query": r"""
sub vcl_recv {
    if (req.url ~ "[?&]reader=") { set req.url = regsub(req.url, "\?.*", ""); }
}
""",
    "mine": None,
}


def check(attempt: Attempt) -> None:
    """The test against three sets of rules, then the rule against new requests."""
    need = attempt.need
    need((CHECKOUT / TEST).exists(), f"There is no {TEST} yet: the test comes first.")

    passes = passing(attempt)
    need(
        "shipped" not in passes,
        "Your test passes with the shipped rules: it would not notice that the rule is missing. Which "
        "request should reach the mock server, and how often?",
    )
    need(
        "right" in passes,
        "Your test fails with a rule that is right. What does it say? docker compose exec -T -e "
        "TMPDIR=/var/lib/varnish varnish varnishtest -t 9 /etc/varnish/tests/newsletter.vtc",
    )
    need(
        "no-query" not in passes,
        "Your test passes with a rule that drops the whole query: let the mock server expect another "
        "argument, which has to stay.",
    )

    gone, new = attempt.changed("normalise.vcl")
    need(gone or new, f"The test is good. {FILE} in use is the shipped one: now write the rule, make reload.")
    links = [f"/stages/?page=NEW&reader={number}" for number in (4711, 4712)]
    first, second = attempt.ask(*map(Ask, links))
    need(
        (first.outcome, second.outcome) == ("miss", "hit"),
        f"Two readers' links were {first.outcome} and {second.outcome}: they should share one copy.",
    )
    fetched = first.seen.fetches[-1].all("BereqURL")[-1] if first.seen else ""
    need(
        "page=" in fetched and "reader" not in fetched,
        f"The backend was asked for {fetched}: page has to reach it, reader has not.",
    )
    others = attempt.ask(Ask("/stages/?NEW&proofreader=a"), Ask("/stages/?NEW&proofreader=b"))
    need(
        {probe.outcome for probe in others} == {"miss"},
        "proofreader= is another argument: two of its values were one page.",
    )
    (only,) = attempt.ask(Ask("/stages/?reader=NEW"))
    sent = only.seen.fetches[-1].all("BereqURL")[-1] if only.seen and only.seen.fetches else "/stages/"
    need(
        sent == "/stages/", f"A link with nothing but reader= asks the backend for {sent}, not for /stages/."
    )
    need("mine" in passes, "Your rule works, but not in your test: what does it expect?")


def passing(attempt: Attempt) -> set[str]:
    """The rules with which the learner's test passes: RULES, and those that are saved here."""
    with tempfile.TemporaryDirectory() as folder:
        for name, rule in RULES.items():
            copy_rules(Path(folder) / name, rule)
        return {
            test.partition("/")[0]
            for test in attempt.stack.passing(folder, [f"{name}/{TEST}" for name in RULES])
        }


def copy_rules(folder: Path, rule: str | None) -> None:
    """The files that a VTC needs: the test, varnish/*.vcl, and the starter's."""
    for file in (*CHECKOUT.glob("varnish/*.vcl"), *CHECKOUT.glob("starter/varnish/*.vcl"), CHECKOUT / TEST):
        name = str(file.relative_to(CHECKOUT))
        text = file.read_text() if name in CHANGES and (rule is None or name == TEST) else shipped(name)
        if name == FILE and rule:
            text += rule
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
