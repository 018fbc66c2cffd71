"""An alert fired under load while the page was open, all is well again, and the learner names its panel."""

import time
import tomllib
from pathlib import Path

from lessons.checking import Laboratory, Need, Question

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


def check(lab: Laboratory, need: Need) -> None:
    """Judge by Prometheus' record of alerts, load and the page's own queries, all at the same moment."""
    running = lab.evidence.started()
    need("prometheus" in running, "not-running")
    need(lab.as_shipped("extras/observe/prometheus"), "rules")

    fired = alerts(lab)
    need(fired, "not-fired")
    loaded = alerts(lab, LOADED)
    need(loaded, "no-load", fired[0])
    watched = alerts(lab, LOADED, WATCHED)
    need(watched, "no-page", loaded[0])

    stopped = sorted(lab.started.keys() - running.keys())
    need(not stopped, "stopped", ", ".join(stopped))
    on = sorted({labels["alertname"] for labels, _ in lab.evidence.metrics("ALERTS")})
    need(not on, "still-on", ", ".join(on))


def question(lab: Laboratory, need: Need) -> Question:
    """The question about the fault that the learner has watched."""
    fired = alerts(lab, LOADED, WATCHED)
    need(fired, "old")
    return QUESTIONS[fired[0]]


def alerts(lab: Laboratory, *conditions: str) -> list[str]:
    """The alerts that have begun to fire since the lesson began, and fired while the conditions held.

    They are in order of time, but VarnishDown is last, because a changed setting restarts Varnish.
    """
    moments = " and on () ".join((FIRING, *conditions))
    new = f"{moments} unless on (alertname) ALERTS @ {lab.began:.3f}"
    seconds = min(HOUR, int(time.time() - lab.began) + 1)
    found = lab.evidence.metrics(f"min by (alertname) (min_over_time(timestamp({new})[{seconds}s:5s]))")
    first = {labels["alertname"]: at for labels, at in found}
    return sorted(first.keys() & QUESTIONS.keys(), key=lambda name: (name == "VarnishDown", first[name]))
