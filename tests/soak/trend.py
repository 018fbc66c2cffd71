"""The slope of a series, and whether it is distinguishable from none. Pure.

The slope is the Theil-Sen estimator, the median of the slopes between any two points, which a few outliers do
not change; its interval is that of Sen (1968): https://doi.org/10.1080/01621459.1968.10480934

The interval assumes independent points, and samples that are seconds apart are not: memory that is high now
is high five seconds later. So the points are the medians of a few long parts, and the interval is a wide one:
a run judges some thirty series, and none of them may fail by chance.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import median

PARTS = 15  # points of a series
NORMAL = 3.29  # standard deviations: 99.9 % of a normal distribution


@dataclass(frozen=True)
class Trend:
    """The slope and its interval of 99.9 %, in the series' unit per unit of time."""

    slope: float
    low: float
    high: float


def trend(times: Sequence[float], values: Sequence[float]) -> Trend:
    """The trend of a series in the order of time. Raise ValueError if it has fewer samples than PARTS."""
    count = len(values)
    if count < PARTS:
        raise ValueError(f"{count} samples, at least {PARTS} are needed")
    edges = [part * count // PARTS for part in range(PARTS + 1)]
    points = [(median(times[first:end]), median(values[first:end])) for first, end in pairwise(edges)]
    slopes = sorted(
        (later - earlier) / (then - now) for (now, earlier), (then, later) in combinations(points, 2)
    )
    spread = NORMAL * math.sqrt(PARTS * (PARTS - 1) * (2 * PARTS + 5) / 18)
    outside = int((len(slopes) - spread) / 2)  # of the slopes, at either end
    return Trend(median(slopes), slopes[outside - 1], slopes[-outside])
