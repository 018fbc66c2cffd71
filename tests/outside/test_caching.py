"""cache-tests, on nginx and Varnish in front of its own server: what RFC 9111 requires of a shared cache.

Much of a cache's behaviour is optional (RFC 9111, section 3): tests of that, and tests that cannot begin
because a response was rightly not stored, have no result here.
"""

import json
import subprocess
from collections import Counter

import pytest

from tests.outside.allowed import compare
from tests.outside.installed import cache_tests, python_tools
from tests.outside.report import record
from tests.stack import Stack

pytestmark = pytest.mark.slow


def test_as_a_cache(fronting: Stack, origin_port: int) -> None:
    port = fronting.ports["HTTP_PORT"]
    target = (f"http://127.0.0.1:{port}", f"app.localhost:{port}")
    command = (python_tools() / "node", "run.mjs", str(origin_port), *target)
    done = subprocess.run(command, cwd=cache_tests(), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    counts = Counter(outcome for outcome, _ in results.values())
    assert counts["passed"] > 80, counts  # otherwise the cache has stored nothing
    failed = {name: words for name, (outcome, words) in results.items() if outcome in ("failed", "broken")}
    compare("cache-tests", failed)
    record("cache-tests", counts["passed"], len(failed), len(results) - counts["passed"] - len(failed))
