"""While the backend was stopped, a stored page was served old and a new one was a 503; now it runs again."""

from checking import Ask, Attempt, Choice, Question

RESTARTS = {"backend"}

QUESTION = Question(
    right=Choice(
        "Sick after 2, healthy after 1.", "One of the last two must be good: so two bad ones are too many."
    ),
    wrong=(
        Choice("Sick after 2, healthy after 2.", "To be healthy again, one good probe of two is enough."),
        Choice("Sick after 1, healthy after 1.", "One bad probe leaves one good one of two: enough."),
        Choice("Sick after 1, healthy after 2.", "The other way round: threshold counts good probes."),
    ),
)


def check(attempt: Attempt) -> None:
    """Require an old copy and an error page while the health check failed, and a backend that runs again."""
    need = attempt.need

    pages = [request for request in attempt.requests("/") if request.path == "/"]
    need(
        any(page.outcome == "miss" and page.status == 200 for page in pages),
        "Request /?WORD while the backend runs, so that Varnish has a copy of it. Then stop the backend.",
    )
    old = [page for page in pages if page.outcome == "stale" and page.found_sick]
    need(
        old,
        "You have not requested /?WORD while Varnish knew that the backend was down. Stop it with docker "
        "compose stop backend, wait for fifteen seconds, then request /?WORD.",
    )
    stages = attempt.requests("/stages/")
    down = [page for page in stages if page.found_sick]
    need(down, "Request /stages/?WORD too while the backend is stopped: Varnish has no copy of it.")
    need(
        any(page.status == 503 for page in down),
        "/stages/?WORD was not a 503 while the backend was stopped: Varnish had a copy of it. Request a page "
        "that it cannot have, such as /stages/?WORD-2.",
    )

    (now,) = attempt.ask(Ask("/stages/?NEW"))
    need(
        now.answer.status == 200,
        "The backend does not answer yet. Type: docker compose start backend, then wait for ten seconds.",
    )
    need(
        "backend" in attempt.restarted(),
        "The backend was down, but it was not stopped and started. Type: docker compose stop backend",
    )
    stopped = attempt.stack.stopped("backend")
    need(
        stopped < max(old[-1].began, down[-1].began),
        "The backend was running when you got the old copy: request /?WORD again while it is stopped.",
    )
    need(stages[-1].status == 200, "Request /stages/?WORD once more, to see it come back.")
