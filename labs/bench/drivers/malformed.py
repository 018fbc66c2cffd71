"""Malformed files of SQLite.

labs/bench/clients/malformed.py runs in the generator's container and reports the metrics. Settings:
`mistake`; `remedy`, whether its remedy is tried instead; `trials`, each with a new file.
"""

from functools import partial

from labs.bench.drivers import report

measure = partial(report, client="malformed")
