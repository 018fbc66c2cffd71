"""Judges an attempt: the checks that are the same for every lesson, then the lesson's own."""

import difflib

from logs.inside import REPO

from . import vcl
from .attempt import Attempt
from .errors import Missing, StartAgain
from .lesson import Lesson
from .rules import broken_rules
from .shipped import CONFIGURATION, changed_files, shipped

# What a rule of any lesson may read of a request; a lesson's READS has more.
READS = {"req.http.host"}


def judge(lesson: Lesson, attempt: Attempt) -> None:
    """Raise Missing or StartAgain with the first thing that is wrong."""
    same_stack(lesson, attempt)
    _configuration(lesson, attempt)
    _the_same_for_all(lesson, attempt)
    attempt.look_like_the_learner()
    lesson.check(attempt)
    if lesson.changes:
        broken = broken_rules(attempt, lesson.changed_rules)
        attempt.need(not broken, "The change also breaks other caching rules:\n  " + "\n  ".join(broken[:5]))


def same_stack(lesson: Lesson, attempt: Attempt) -> None:
    """Raise StartAgain if the stack no longer has the evidence of the attempt."""
    again = f"Begin again: make lesson LESSON={lesson.number} AGAIN=1"
    restarted = sorted(attempt.restarted() - lesson.restarts)
    if restarted:
        raise StartAgain(
            f"{', '.join(restarted)} was restarted since the lesson began, so its counters and its log are "
            f"gone. {again}"
        )
    # Where a Varnish may be restarted, its log begins anew.
    kept = not any(service.startswith("varnish") for service in lesson.restarts)
    if kept and attempt.stack.oldest_record() > attempt.began + 1:
        raise StartAgain(f"Varnish's log no longer has the beginning of this attempt. {again}")


def _the_same_for_all(lesson: Lesson, attempt: Attempt) -> None:
    """A rule that asks who the client is, or what time it is, could be right for the check alone."""
    for path in lesson.changes:
        if path.startswith("varnish/"):
            name = path.removeprefix("varnish/")
            _, new = attempt.changed(name)
            known = vcl.facts(vcl.statements(shipped(path))) | READS | lesson.reads
            foreign = sorted(vcl.facts(new) - known)
            if foreign:
                raise Missing(
                    f"The new rule in {name} reads {', '.join(foreign)}. It has to treat all clients alike, "
                    "at any time, so it may not depend on that."
                )


def _configuration(lesson: Lesson, attempt: Attempt) -> None:
    """Only the lesson's files may be changed, and what is saved must be loaded."""
    changed = changed_files(CONFIGURATION)
    for file in changed:
        if file not in lesson.changes:
            raise Missing(
                f"{file} differs from the shipped file, and this lesson does not change it. "
                "make lesson RESET=1 "
                "restores the shipped files and keeps yours as a patch."
            )
    for name, loaded in attempt.stack.loaded.items():
        path = f"starter/varnish/{name}" if name == "analytics.vcl" else f"varnish/{name}"
        if name in ("backends.vcl", "deployment.vcl"):
            continue  # written by start.sh
        saved = (REPO / path).read_text()
        if saved != loaded:
            line = next(
                line for line in difflib.ndiff(loaded.splitlines(), saved.splitlines()) if line[:1] in "+-"
            )
            raise Missing(
                f"{path} is saved, but Varnish has not loaded it ({line.strip()}). Type: make reload\n"
                "If that reports a mistake in the file, Varnish keeps the old version."
            )
        if path not in lesson.changes and loaded != shipped(path):
            raise Missing(f"Varnish runs another {path} than the shipped one. Type: make lesson RESET=1")
    if not attempt.stack.nginx_is_loaded():
        raise Missing("nginx has not loaded what is saved in nginx/. Type: make reload")
