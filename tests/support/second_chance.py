"""The verdict of a second chance: `make test SECOND_CHANCE=yes` runs what has failed once more (bin/test).

pytest itself remembers what failed and runs only that (`--last-failed`). This module lists the tests that
pass the second time, each with its first error, and makes all else red.
"""

from pathlib import Path

import pytest

# In pytest's cache: the id of each failed test with its first error in a line, and pytest's own list.
ERRORS = "second-chance/errors"
FAILED = "cache/lastfailed"
UNSTABLE = Path("test-results/unstable.txt")


def pytest_configure(config: pytest.Config) -> None:
    """Watch the run; not in the workers of pytest-xdist, which report to the process that started them."""
    if not hasattr(config, "workerinput") and getattr(config, "cache", None):  # none with -p no:cacheprovider
        config.pluginmanager.register(SecondChance(config.cache, config.getoption("lf")))


class SecondChance:
    """Records each test's first error; in the second run, finds the first run's failures that now pass."""

    def __init__(self, cache: pytest.Cache, again: bool) -> None:
        self._cache = cache
        self._errors: dict[str, str] = cache.get(ERRORS, {})
        self._to_pass = set(cache.get(FAILED, {})) if again else set()
        self._passed: set[str] = set()
        self._unstable: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note one step of a test: its set-up, its call or its teardown."""
        if report.failed:
            self._errors.setdefault(report.nodeid, first_line(report))
            self._passed.discard(report.nodeid)
        elif report.when == "call" and report.passed:
            self._passed.add(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A test that failed and does not pass now, for whatever reason, is red."""
        self._cache.set(ERRORS, self._errors)
        self._unstable = [
            f"{test}: {self._errors.get(test, 'no error noted')}"
            for test in sorted(self._to_pass & self._passed)
        ]
        if self._to_pass - self._passed:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        elif self._to_pass:
            UNSTABLE.parent.mkdir(exist_ok=True)
            UNSTABLE.write_text("".join(f"{line}\n" for line in self._unstable))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """List the unstable tests before pytest's closing line."""
        if self._unstable:
            terminalreporter.section("unstable: failed, then passed alone")
            for line in self._unstable:
                terminalreporter.write_line(line)


def first_line(report: pytest.TestReport) -> str:
    """The error, in one line."""
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = str(crash.message if crash else report.longrepr).strip().splitlines()
    return lines[0] if lines else "no message"
