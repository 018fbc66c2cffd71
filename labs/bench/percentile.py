"""The only definition of a percentile, for the drivers and for their programs in the containers."""

import statistics
from collections.abc import Sequence


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the value that `percent` (1 to 99) of the values do not exceed, interpolated."""
    if len(values) == 1:
        return values[0]
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]
