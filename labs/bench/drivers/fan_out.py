"""Many listeners on one stage: how long a line takes to reach them.

labs/bench/clients/fan_out.py runs inside the backend's container, with its own server; it reports the
metrics, or fails if a line is lost. Settings: `listeners`; `stalled`, the number of further clients that
never read; `seconds` of talk.
"""

from functools import partial

from labs.bench.drivers import report

measure = partial(report, client="fan_out", service="backend", environment=["PYTHONPATH=/"])
