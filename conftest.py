"""Hooks for every run of pytest in this repository."""

import pytest

pytest_plugins = ["tests.support.chromium"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a worker of pytest-xdist, begin with this worker's share of the tests marked `long`.

    Each worker begins with an equal part of the list. A long test at its end would keep one worker busy when
    the others have finished.
    """
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    if workers > 1:
        long = [item for item in items if item.get_closest_marker("long")]
        short = [item for item in items if not item.get_closest_marker("long")]
        items[:] = [
            item
            for worker in range(workers)
            for part in (
                long[worker::workers],
                short[len(short) * worker // workers : len(short) * (worker + 1) // workers],
            )
            for item in part
        ]
