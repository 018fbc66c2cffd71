"""A drawn fault is mended, by hand, and its cause is named."""

from checking import Ask, Attempt, Choice, Question
from faults.fault import Fault, bash, faults
from faults.note import Note, read_note, write_note

RESTARTS = {"nginx", "varnish", "backend", "policyd"}

# Each fault that can be drawn, and three that look like it.
ALIKE = {
    "backend-frozen": ("backend-socket-removed", "varnish-frozen", "nginx-worker-frozen"),
    "backend-socket-removed": ("backend-frozen", "varnish-frozen", "varnish-off-back"),
    "nginx-off-back": ("varnish-off-back", "varnish-frozen", "nginx-off-edge"),
    "nginx-off-edge": ("nginx-worker-frozen", "nginx-off-back", "policyd-frozen"),
    "nginx-worker-frozen": ("nginx-off-edge", "backend-frozen", "varnish-frozen"),
    "policyd-frozen": ("nginx-off-edge", "nginx-worker-frozen", "backend-frozen"),
    "varnish-frozen": ("backend-frozen", "varnish-off-back", "backend-socket-removed"),
    "varnish-off-back": ("nginx-off-back", "varnish-frozen", "backend-socket-removed"),
}


def choice(fault: Fault) -> Choice:
    """A cause, and what it does to visitors."""
    return Choice(f"{fault.title}.", f"Then this is what visitors see: {fault.users}")


known = {fault.name: fault for fault in faults()}
QUESTIONS = {
    name: Question(choice(known[name]), (choice(known[one]), choice(known[two]), choice(known[three])))
    for name, (one, two, three) in ALIKE.items()
}


def question(attempt: Attempt) -> Question:
    """The causes to choose from."""
    return QUESTIONS[drawn(attempt).drawn]


def drawn(attempt: Attempt) -> Note:
    """What is broken, or was mended by hand."""
    note = read_note(attempt.stack.state / "fault.json")
    attempt.need(
        note and note.drawn and note.broken >= attempt.began,
        "Nothing is broken that is yours to find: make break FAULT=drawn. (make mend ends it, and the next "
        "one is another.)",
    )
    assert note
    return note


def check(attempt: Attempt) -> None:
    """The services' health as the engine sees it, then what visitors get."""
    need = attempt.need
    note = drawn(attempt)
    need(not bash("is_well").returncode, "A service is not healthy: docker compose ps -a")
    hosts = ("localhost", "classic.localhost", "nginx.localhost")
    for probe in attempt.ask(*[Ask("/?NEW", host) for host in hosts] * 4, at_once=True):
        need(
            probe.answer.status == 200,
            f"A visitor of {probe.ask.host} still gets {probe.answer.status or 'no answer'} for a page that "
            "was not requested before.",
        )
    if not note.mended and not attempt.stack.of_another:
        write_note(attempt.stack.state / "fault.json", note.ended())
