"""While the backend was stopped, a stored page was served stale and a new one was a 503; now it runs."""

from lessons.checking import Ask, Laboratory, Need


def check(lab: Laboratory, need: Need) -> None:
    """Require a stale copy and an error page while the health check failed, and a running backend now."""
    pages = [request for request in lab.requests("/") if request.path == "/"]
    need(any(page.outcome == "miss" and page.status == 200 for page in pages), "no-copy")
    old = [page for page in pages if page.outcome == "stale" and page.found_sick]
    need(old, "not-down")
    stages = lab.requests("/stages/")
    down = [page for page in stages if page.found_sick]
    need(down, "no-other-page")
    need(any(page.status == 503 for page in down), "not-503")

    (now,) = lab.ask(Ask("/stages/?NEW"))
    need(now.response.status == 200, "no-answer")
    need("backend" in lab.restarted(), "not-stopped")
    stopped = lab.evidence.stopped("backend")
    need(stopped < max(old[-1].began, down[-1].began), "was-running")
    need(stages[-1].status == 200, "come-back")
