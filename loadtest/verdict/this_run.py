"""The verdict on the run so far, from Locust's figures and this project's counters in this process."""

from locust import User
from locust.env import Environment
from locust.runners import MasterRunner, Runner
from locust.stats import sort_stats

from caches import counters
from options import COUNT
from users import taking_part
from verdict import judge, rows, thresholds
from verdict.generator import load_of_locust


def verdict(environment: Environment) -> list[judge.Line]:
    assert environment.runner
    assert environment.parsed_options
    lines = thresholds.of(environment.parsed_options, rows.any_of_ours(picked(environment)))
    return judge.judge(measured(environment.runner), lines)


def measured(runner: Runner) -> judge.Run:
    """Return the figures of the run's visitors, for the judge; a copy, because the run continues.

    Crawlers are not visitors: the stack may refuse them. Only `caches` includes their responses.
    """
    environment = runner.environment
    table = [
        judge.Row(
            kind=entry.method or "",
            name=entry.name,
            samples=entry.num_requests,
            failures=entry.num_failures,
            times=dict(entry.response_times),
            length=entry.total_content_length,
        )
        for entry in sort_stats(runner.stats.entries)
        if entry.method != rows.CRAWL
    ]
    assert environment.parsed_options
    seen = map(str, table) if environment.parsed_options.misses == COUNT else None
    possible, left_out = rows.of_run(picked(environment), seen)
    return judge.Run(
        rows=table,
        caches=dict(counters.counts),
        exceptions=sum(exception["count"] for exception in runner.exceptions.values()),
        generator_cpu=load_of_locust.cpu,
        generator_late=load_of_locust.late,
        generator_warned=runner.cpu_warning_emitted or runner.worker_cpu_warning_emitted,
        lost=len(runner.clients.missing) if isinstance(runner, MasterRunner) else 0,
        possible=possible,
        left_out=left_out,
    )


def picked(environment: Environment) -> list[type[User]]:
    options = environment.parsed_options
    assert options
    return [user for user in environment.user_classes if not taking_part.lack(user, options)]
