"""The picture of a run."""

from pathlib import Path
from typing import Any, cast

from matplotlib.figure import Figure

from tests.soak.plot import paint, plot
from tests.soak.verdict import MEASURES

SAMPLES = [
    {
        "seconds": turn * 5.0,
        **{measure.key: {} for measure in MEASURES},
        "memory": {"nginx": 25.0, "backend": 70.0 + turn / 100},
        "p95": {"join": 9.0} if turn > 10 else {},  # no join in the first seconds
    }
    for turn in range(1, 121)
]


def test_each_name_has_a_line_of_its_own_samples() -> None:
    axes = Figure().add_subplot()
    p95 = next(measure for measure in MEASURES if measure.key == "p95")
    assert paint(axes, p95, SAMPLES) == ["join"]
    assert [len(cast(Any, line.get_path().vertices)) for line in axes.get_lines()] == [110, 110]
    assert axes.get_xlim() == (0, 10)


def test_a_run_is_written_as_a_png(tmp_path: Path) -> None:
    plot(SAMPLES, tmp_path / "soak.png")
    assert (tmp_path / "soak.png").read_bytes().startswith(b"\x89PNG")
