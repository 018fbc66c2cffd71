"""A VTC that fails without the rule and passes with it; then the rule itself."""

import tempfile
from collections.abc import Collection
from pathlib import Path

from lessons.checking import REPO, Ask, Laboratory, Need, shipped

TEST = "varnish/tests/newsletter.vtc"
FILE = "varnish/normalise.vcl"
# The rules that the test must tell apart: the shipped ones, with one of these appended; the learner's own.
RULES = {
    "shipped": "",
    "right": r"""
sub vcl_recv {
    set req.url = regsuball(req.url, "([?&])reader-[^&]*(&|$)", "\1");
    set req.url = regsub(req.url, "[?&]$", "");
}
""",
    "no-query": r"""
sub vcl_recv {
    if (req.url ~ "[?&]reader-") { set req.url = regsub(req.url, "\?.*", ""); }
}
""",
    "mine": None,
}


def check(lab: Laboratory, need: Need) -> None:
    """Run the test with three sets of rules; then check the rule with new requests."""
    need((REPO / TEST).exists(), "no-test")

    passes = passing(lab, RULES)
    # Run these again if they fail: a busy machine is not the learner's mistake.
    passes |= passing(lab, {"right", "mine"} - passes)
    need("shipped" not in passes, "passes-without-rule")
    need("right" in passes, "fails-with-rule")
    need("no-query" not in passes, "drops-query")

    need(lab.changed(FILE), "shipped")
    links = [f"/stages/?page-NEW&reader-{number}" for number in (4711, 4712)]
    first, second = lab.ask(*map(Ask, links))
    need((first.outcome, second.outcome) == ("miss", "hit"), "not-shared", first.outcome, second.outcome)
    fetched = first.url_sent_on
    need("page-" in fetched and "reader" not in fetched, "wrong-url", fetched)
    others = lab.ask(Ask("/stages/?NEW&proofreader-a"), Ask("/stages/?NEW&proofreader-b"))
    need({probe.outcome for probe in others} == {"miss"}, "proofreader")
    (only,) = lab.ask(Ask("/stages/?reader-NEW"))
    need(only.url_sent_on in ("/stages/", ""), "question-mark", only.url_sent_on)
    need("mine" in passes, "fails-with-mine")


def passing(lab: Laboratory, names: Collection[str]) -> set[str]:
    """Return the names in RULES with which the learner's test passes."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            copy_rules(Path(folder) / name, RULES[name])
        tests = lab.evidence.passing(folder, [f"{name}/{TEST}" for name in names]) if names else ()
        return {test.partition("/")[0] for test in tests}


def copy_rules(folder: Path, rule: str | None) -> None:
    """Copy the files that a VTC needs: the test, varnish/*.vcl, and the starter's.

    `rule` is appended to the shipped rules of FILE; None: copy the learner's own.
    """
    for file in (*REPO.glob("varnish/*.vcl"), *REPO.glob("starter/varnish/*.vcl"), REPO / TEST):
        name = str(file.relative_to(REPO))
        text = file.read_text() if name in (FILE, TEST) and (rule is None or name == TEST) else shipped(name)
        if name == FILE and rule:
            text += rule
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
