"""Malformed files of SQLite.

clients/malformed.py runs in the generator's container and reports the metrics. Settings: `mistake`, and
`remedy`, whether the right thing is done instead; `trials`, each with a new file.
"""

from functools import partial

from labs.bench.drivers import report

measure = partial(report, client="malformed")
