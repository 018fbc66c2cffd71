"""A random fault was repaired by hand, was watched under load while it lasted, and its cause is named."""

from faults.fault import bash, faults
from faults.state import State, read_state, write_state
from lessons.checking import Ask, Laboratory, Need, Question

# Each fault that can be chosen, and three that resemble it.
ALIKE = {
    "backend-frozen": ("backend-socket-removed", "varnish-frozen", "nginx-worker-frozen"),
    "backend-socket-removed": ("backend-frozen", "varnish-frozen", "varnish-off-back"),
    "nginx-off-back": ("varnish-off-back", "varnish-frozen", "nginx-worker-frozen"),
    "policyd-frozen": ("varnish-frozen", "nginx-worker-frozen", "backend-frozen"),
    "varnish-frozen": ("backend-frozen", "varnish-off-back", "backend-socket-removed"),
    "varnish-off-back": ("nginx-off-back", "varnish-frozen", "backend-socket-removed"),
}
# A cause, and its effect on visitors.
CHOICES = {
    fault.name: (f"{fault.title}.", f"Then this is what visitors see: {fault.users}") for fault in faults()
}
QUESTIONS = {name: Question(dict(CHOICES[one] for one in (name, *alike))) for name, alike in ALIKE.items()}

HOUR = 3600  # seconds of a fault that the check examines
# The rate over half a minute, part of which is before the fault: the fault itself may stop the load.
LOADED = 'sum(rate(nginx_requests_total{kind!="websocket"}[30s])) > 5'
# The requests of charts. Neither `make status` nor this check sends any of this kind.
WATCHED = 'sum(rate(prometheus_http_requests_total{handler="/api/v1/query_range"}[15s])) > 0'


def check(lab: Laboratory, need: Need) -> None:
    """Check the services' health as the engine reports it, visitors' responses, then Prometheus' records."""
    need("prometheus" in lab.evidence.started(), "not-running")
    state = random_fault(lab, need)
    need(not bash("is_well").returncode, "unhealthy")
    hosts = ("localhost", "classic.localhost", "nginx.localhost")
    for probe in lab.ask(*[Ask("/?NEW", host) for host in hosts] * 4, at_once=True):
        need(probe.response.status == 200, "visitor", probe.ask.host, probe.response.status or "no answer")
    if not state.mended:
        state = state.ended()
        write_state(lab.evidence.state / "fault.json", state)
    need(held(lab, state, LOADED), "no-load")
    need(held(lab, state, f"{LOADED} and {WATCHED}"), "no-page")


def question(lab: Laboratory, need: Need) -> Question:
    """Return the question about this attempt's fault: its cause, and three causes that resemble it."""
    return QUESTIONS[random_fault(lab, need).random]


def random_fault(lab: Laboratory, need: Need) -> State:
    """Return the random fault of this attempt; refuse if there is none, or if `make mend` has repaired it."""
    state = read_state(lab.evidence.state / "fault.json")
    need(state and state.random and state.broken >= lab.began, "not-broken")
    assert state
    return state


def held(lab: Laboratory, state: State, condition: str) -> bool:
    """Return whether a condition on the metrics was true at any moment of the fault, however short."""
    end = min(state.mended, state.broken + HOUR)
    seconds = max(10, round(end - state.broken))
    return bool(lab.evidence.metrics(f"count_over_time(({condition})[{seconds}s:5s] @ {end:.3f})"))
