"""An alert fired under load while the page was open, all is well again, and the learner names its panel."""

import time

from checking import Attempt, Choice, Question

# Any service may have been restarted, Prometheus as well: it keeps its figures in a volume.
RESTARTS = {"nginx", "varnish", "backend", "policyd", "locust", "exporter", "varnishstat", "prometheus"}

HOUR = 3600  # seconds for which the check looks back
FIRING = 'ALERTS{alertstate="firing"}'
# The rate of half a minute, which begins before the fault: the fault itself may end the load.
LOADED = 'sum(rate(nginx_requests_total{kind!="websocket"}[30s])) > 5'
# The requests of charts. `make status` and this check send none of this kind.
WATCHED = 'sum(rate(prometheus_http_requests_total{handler="/api/v1/query_range"}[15s])) > 0'

PROBE = Choice("Healthy backends, on Varnish", "It is what Varnish's probes find when they ask the backend.")
LOOKUPS = Choice(
    "Varnish: what it had, on The stack at a glance",
    "It is what Varnish itself counts; its lines have a gap while there is no Varnish.",
)
MEMORY_OF_EACH = Choice(
    "Memory, on The stack at a glance", "Each running service has a line; one that is stopped has none."
)
REMOVED = Choice(
    "Objects that left, on Varnish", "It is why objects leave: they expire, or there is no room."
)
CACHED = Choice(
    "Answered by a cache, by kind of path, on The stack at a glance",
    "It is the share of the requests, of media and of others, that the backend never saw.",
)
LIMITED = Choice("Over a client's limit, on nginx", "It counts the responses 429, to clients above a limit.")
CUT = Choice(
    "Clients cut off, frames ignored, on The stage",
    "It counts the stage clients that the backend has disconnected.",
)
DELAY = Choice("Delay of a chat line, on The stage", "It is the time until a frame is with all clients.")
FAILED = Choice("Failed requests, on The stack at a glance", "It is the share of the responses with 5xx.")
TIMES = Choice("Response time, on nginx", "It is how long clients wait for a page or a picture.")
PROCESSOR = Choice(
    "The backend's processor, in cores, on The stage", "It is how much of its one core the backend uses."
)


def which(alert: str, right: Choice, *wrong: Choice) -> Question:
    """A question in which each choice names the alert."""
    one, two, three = (Choice(f"{alert}: {choice.text}", choice.because) for choice in wrong)
    return Question(Choice(f"{alert}: {right.text}", right.because), (one, two, three))


# For each alert of prometheus/rules.yml the panel of its fault, and three that this fault does not change.
QUESTIONS = {
    "BackendDown": which("BackendDown", PROBE, REMOVED, LIMITED, CACHED),
    "VarnishDown": which("VarnishDown", LOOKUPS, LIMITED, CUT, DELAY),
    "BackendSick": which("BackendSick", PROBE, REMOVED, LIMITED, CUT),
    "PolicyDown": which("PolicyDown", MEMORY_OF_EACH, PROBE, REMOVED, CUT),
    "CacheIsFull": which("CacheIsFull", REMOVED, PROBE, LIMITED, CUT),
    "CacheDoesNotHelp": which("CacheDoesNotHelp", CACHED, PROBE, LIMITED, CUT),
    "ClientsLimited": which("ClientsLimited", LIMITED, PROBE, REMOVED, CUT),
    "ClientsCut": which("ClientsCut", CUT, PROBE, LIMITED, CACHED),
    "ChatIsSlow": which("ChatIsSlow", DELAY, REMOVED, LIMITED, CACHED),
    "MediaFails": which("MediaFails", FAILED, REMOVED, LIMITED, CUT),
    "SiteIsSlow": which("SiteIsSlow", TIMES, REMOVED, LIMITED, CUT),
    "BackendFull": which("BackendFull", PROCESSOR, PROBE, REMOVED, LIMITED),
}


def check(attempt: Attempt) -> None:
    """Judge by Prometheus' record of alerts, load and the page's own queries, all at the same moment."""
    need = attempt.need
    running = attempt.stack.started()
    need(
        "prometheus" in running,
        "Prometheus does not run, so there is nothing to watch. Type: make up EXTRAS=observe",
    )
    need(
        attempt.as_shipped("extras/observe/prometheus"),
        "A file of extras/observe/prometheus differs from the shipped one: break the stack, not its alerts. "
        "git checkout extras/observe/prometheus restores it; then begin again.",
    )

    fired = alerts(attempt)
    need(
        fired,
        "No alert has begun to fire since the lesson began, or in the last hour; one that was on already "
        "does not count. Break something, and leave it broken until the page's top line says Firing.",
    )
    loaded = alerts(attempt, LOADED)
    need(
        loaded,
        f"{fired[0]} has fired, but the stack had fewer than five requests a second meanwhile. Start users "
        "on Locust's page first, then break it again.",
    )
    watched = alerts(attempt, LOADED, WATCHED)
    need(
        watched,
        f"{loaded[0]} has fired, but no page was open to show it. Open the page, then break it again.",
    )

    stopped = sorted(attempt.started.keys() - running.keys())
    need(
        not stopped, f"Now mend it: {', '.join(stopped)} does not run. docker compose start starts a service."
    )
    on = sorted({labels["alertname"] for labels, _ in attempt.stack.metrics("ALERTS")})
    need(
        not on,
        f"Now mend it, and wait until the page says that all is well: {', '.join(on)} is still on. "
        "VarnishDown stays for two minutes after a restart.",
    )


def question(attempt: Attempt) -> Question:
    """The question about the fault that the learner has watched."""
    fired = alerts(attempt, LOADED, WATCHED)
    attempt.need(fired, "The fault is more than an hour ago: break something again.")
    return QUESTIONS[fired[0]]


def alerts(attempt: Attempt, *conditions: str) -> list[str]:
    """The alerts that have begun to fire since the lesson began, and fired while the conditions held.

    They are in order of time, but VarnishDown is last, because a changed setting restarts Varnish.
    """
    moments = " and on () ".join((FIRING, *conditions))
    new = f"{moments} unless on (alertname) ALERTS @ {attempt.began:.3f}"
    seconds = min(HOUR, int(time.time() - attempt.began) + 1)
    found = attempt.stack.metrics(f"min by (alertname) (min_over_time(timestamp({new})[{seconds}s:5s]))")
    first = {labels["alertname"]: at for labels, at in found}
    return sorted(first.keys() & QUESTIONS.keys(), key=lambda name: (name == "VarnishDown", first[name]))
