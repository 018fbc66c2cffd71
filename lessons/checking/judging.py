"""Judges an attempt: the checks that are the same for every lesson, then the lesson's own."""

import difflib

from lessons.lesson import Lesson
from proscenium.running import REPO

from .checks import check
from .errors import Missing, StartAgain
from .evidence import unix
from .laboratory import Laboratory
from .rules import broken_rules
from .shipped import CONFIGURATION, changed_files, shipped


def judge(lesson: Lesson, lab: Laboratory) -> None:
    """Raise Missing or StartAgain for the first fault."""
    same_stack(lesson, lab)
    _configuration(lesson, lab)
    check(lesson, lab)
    if lesson.changes:
        broken = broken_rules(lab, lesson.names("changed_rules"))
        if broken:
            raise Missing("\n  ".join(["The change also breaks other caching rules:", *broken[:5]]))


def same_stack(lesson: Lesson, lab: Laboratory) -> None:
    """Raise StartAgain if the stack no longer holds the evidence of the attempt."""
    again = f"Begin again: make lesson LESSON={lesson.number} AGAIN=1"
    restarted = sorted(lab.restarted() - lesson.names("restarts"))
    if restarted:
        raise StartAgain(
            f"{', '.join(restarted)} was restarted since the lesson began, so its log is gone. {again}"
        )
    # If a Varnish may be restarted, its log may begin anew.
    kept = not any(service.startswith("varnish") for service in lesson.names("restarts"))
    if kept and lab.evidence.oldest_record() > lab.began + 1:
        raise StartAgain(f"Varnish's log no longer has the beginning of this attempt. {again}")


def _configuration(lesson: Lesson, lab: Laboratory) -> None:
    """Require that only the lesson's files are changed, and that the saved files are loaded."""
    for file in changed_files(CONFIGURATION):
        if file not in lesson.changes:
            raise Missing(
                f"{file} differs from the shipped file, and this lesson does not change it. "
                "make lesson RESET=1 restores the shipped files and keeps yours as a patch."
            )
    if any(path.endswith(".vcl") and path not in lab.evidence.loaded for path in lesson.changes):
        raise Missing("Varnish runs another VCL than default.vcl. Type: make reload")
    for name, loaded in lab.evidence.loaded.items():
        _as_saved(name, loaded)
    for files in lab.evidence.labelled:  # may be as shipped: `vcl.load` by hand does not change them
        for name, loaded in files.items():
            if not name.startswith("/") and loaded != unix(shipped(name)):
                _as_saved(name, loaded)
    if not lab.evidence.nginx_is_loaded():
        raise Missing("nginx has not loaded what is saved in nginx/. Type: make reload")


def _as_saved(name: str, loaded: str) -> None:
    """Raise Missing unless a file that Varnish has loaded equals the one on the disk."""
    if name.startswith("/"):  # Varnish's start.sh writes it
        return
    if not (REPO / name).is_file():  # such as <vcl.inline>
        raise Missing(f"Varnish runs another VCL ({name}) than that of this checkout. Type: make reload")
    saved = unix((REPO / name).read_text("utf-8", "replace"))
    if saved != loaded:
        lines = difflib.ndiff(loaded.splitlines(), saved.splitlines())
        line = next((line for line in lines if line[:1] in "+-"), "at its end")
        why = "If that reports a mistake in the file, Varnish keeps the old version."
        if saved.startswith("\ufeff"):
            why = "It begins with a byte-order mark, which Varnish refuses: save it as UTF-8 without one."
        raise Missing(
            f"{name} is saved, but Varnish has not loaded it ({line.strip()}). Type: make reload\n{why}"
        )
