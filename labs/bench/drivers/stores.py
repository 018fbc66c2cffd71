"""Several writers and one store.

labs/bench/clients/stores.py runs in the generator's container and reports the metrics; a failing store gives
a figure, too. Settings: those of the store, as in labs/stores/lab.toml; `workers`, "processes" or "threads";
`writers`, their number; `runs`, each with new files.
"""

from functools import partial

from labs.bench.drivers import report

measure = partial(report, client="stores")
