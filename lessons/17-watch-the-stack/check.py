"""An alert fired under load while the page was open, all is well again, and the learner names its panel."""

import time
import tomllib
from pathlib import Path

from lessons.checking import Attempt, Need, Question

# Any service may have been restarted, Prometheus as well: it keeps its figures in a volume.

HOUR = 3600  # seconds for which the check looks back
FIRING = 'ALERTS{alertstate="firing"}'
# The rate of half a minute, which begins before the fault: the fault itself may end the load.
LOADED = 'sum(rate(nginx_requests_total{kind!="websocket"}[30s])) > 5'
# The requests of charts. `make status` and this check send none of this kind.
WATCHED = 'sum(rate(prometheus_http_requests_total{handler="/api/v1/query_range"}[15s])) > 0'

SAYS = tomllib.loads(Path(__file__).with_name("lesson.toml").read_text())
QUESTIONS = {
    alert: Question({f"{alert}: {panel}": reason for panel, reason in map(SAYS["panels"].get, panels)})
    for alert, panels in SAYS["alerts"].items()
}


def check(attempt: Attempt, need: Need) -> None:
    """Judge by Prometheus' record of alerts, load and the page's own queries, all at the same moment."""
    running = attempt.evidence.started()
    need("prometheus" in running, "not-running")
    need(attempt.as_shipped("extras/observe/prometheus"), "rules")

    fired = alerts(attempt)
    need(fired, "not-fired")
    loaded = alerts(attempt, LOADED)
    need(loaded, "no-load", fired[0])
    watched = alerts(attempt, LOADED, WATCHED)
    need(watched, "no-page", loaded[0])

    stopped = sorted(attempt.started.keys() - running.keys())
    need(not stopped, "stopped", ", ".join(stopped))
    on = sorted({labels["alertname"] for labels, _ in attempt.evidence.metrics("ALERTS")})
    need(not on, "still-on", ", ".join(on))


def question(attempt: Attempt, need: Need) -> Question:
    """The question about the fault that the learner has watched."""
    fired = alerts(attempt, LOADED, WATCHED)
    need(fired, "old")
    return QUESTIONS[fired[0]]


def alerts(attempt: Attempt, *conditions: str) -> list[str]:
    """The alerts that have begun to fire since the lesson began, and fired while the conditions held.

    They are in order of time, but VarnishDown is last, because a changed setting restarts Varnish.
    """
    moments = " and on () ".join((FIRING, *conditions))
    new = f"{moments} unless on (alertname) ALERTS @ {attempt.began:.3f}"
    seconds = min(HOUR, int(time.time() - attempt.began) + 1)
    found = attempt.evidence.metrics(f"min by (alertname) (min_over_time(timestamp({new})[{seconds}s:5s]))")
    first = {labels["alertname"]: at for labels, at in found}
    return sorted(first.keys() & QUESTIONS.keys(), key=lambda name: (name == "VarnishDown", first[name]))
