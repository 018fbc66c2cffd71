"""A drawn fault is mended, by hand, and its cause is named."""

from faults.fault import bash, faults
from faults.note import Note, read_note, write_note
from lessons.checking import Ask, Laboratory, Need, Question

# Each fault that can be drawn, and three that look like it.
ALIKE = {
    "backend-frozen": ("backend-socket-removed", "varnish-frozen", "nginx-worker-frozen"),
    "backend-socket-removed": ("backend-frozen", "varnish-frozen", "varnish-off-back"),
    "nginx-off-back": ("varnish-off-back", "varnish-frozen", "nginx-worker-frozen"),
    "policyd-frozen": ("varnish-frozen", "nginx-worker-frozen", "backend-frozen"),
    "varnish-frozen": ("backend-frozen", "varnish-off-back", "backend-socket-removed"),
    "varnish-off-back": ("nginx-off-back", "varnish-frozen", "backend-socket-removed"),
}


# A cause, and what it does to visitors.
CHOICES = {
    fault.name: (f"{fault.title}.", f"Then this is what visitors see: {fault.users}") for fault in faults()
}
QUESTIONS = {name: Question(dict(CHOICES[one] for one in (name, *alike))) for name, alike in ALIKE.items()}


def question(lab: Laboratory, need: Need) -> Question:
    """The causes to choose from."""
    return QUESTIONS[drawn(lab, need).drawn]


def drawn(lab: Laboratory, need: Need) -> Note:
    """What is broken, or was mended by hand."""
    note = read_note(lab.evidence.state / "fault.json")
    need(note and note.drawn and note.broken >= lab.began, "not-broken")
    assert note
    return note


def check(lab: Laboratory, need: Need) -> None:
    """The services' health as the engine sees it, then what visitors get."""
    note = drawn(lab, need)
    need(not bash("is_well").returncode, "unhealthy")
    hosts = ("localhost", "classic.localhost", "nginx.localhost")
    for probe in lab.ask(*[Ask("/?NEW", host) for host in hosts] * 4, at_once=True):
        need(probe.answer.status == 200, "visitor", probe.ask.host, probe.answer.status or "no answer")
    if not note.mended:
        write_note(lab.evidence.state / "fault.json", note.ended())
