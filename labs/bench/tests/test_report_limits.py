"""How near a cell comes to the limit of the machine."""

from pathlib import Path

import pytest

from bench.report.limits import Use, use
from bench.tests import samples

CPU = {"requests_per_second": 1000.0, "cpu_percent.nginx": 100.0, "system_cpu_percent": 90.0}


def used(folder: Path, figures: dict[str, float], cores: int = 2) -> Use | None:
    """The use of a cell with these figures."""
    results = samples.run([samples.cell({"way": "x"}, figures)], machine=samples.MACHINE | {"cores": cores})
    found = samples.lab(folder, results, "one_core = { 'cpu_percent.backend' = 'the one core of UpStage' }")
    return use(found, found.cells[0])


@pytest.mark.parametrize(
    ("figures", "busy", "share", "limit", "full"),
    [
        # The thread of the generator, which is less than its service.
        ({"cpu_percent.generator": 90, "generator_cpu_percent": 80}, 50, 0.8, 1250, "generator"),
        # A program that the lab declares to have one thread.
        ({"cpu_percent.backend": 80, "generator_cpu_percent": 50}, 60, 0.8, 1250, "UpStage"),
        # 50 of UpStage, 50 of the generator, 100 of other programs: all cores.
        ({"cpu_percent.backend": 50, "generator_cpu_percent": 50}, 100, 1.0, 1000, "all 2 cores"),
        # The services say 160, the machine 150: the higher counts.
        ({"cpu_percent.nginx": 160, "generator_cpu_percent": 5}, 75, 0.8, 1250, "all 2 cores"),
        # A rate that was measured is possible, even if the clocks add up to more than everything.
        ({"cpu_percent.nginx": 50, "generator_cpu_percent": 101}, 80, 1.0, 1000, "generator"),
        # Memory does not grow with the rate: a share, but no limit.
        ({**CPU, "generator_cpu_percent": 5, "memory_percent.nginx": 95}, 90, 0.95, None, "memory of nginx"),
        # That of a service with nothing to do in this cell, 4 of 104, counts for nothing.
        (
            {**CPU, "cpu_percent.backend": 4, "generator_cpu_percent": 5, "memory_percent.backend": 95},
            90,
            0.9,
            1000 / 0.9,
            "all 2 cores",
        ),
    ],
)
def test_the_limit_is_where_the_fullest_resource_is_full(
    tmp_path: Path, figures: dict[str, float], busy: float, share: float, limit: float | None, full: str
) -> None:
    found = used(tmp_path, {"requests_per_second": 1000, **figures, "system_cpu_percent": busy})
    assert found
    assert found.share == pytest.approx(share)
    assert found.limit == (limit and pytest.approx(limit))
    assert full in found.full


def test_the_cpu_of_a_request_is_that_of_each_service_and_of_everything_else(tmp_path: Path) -> None:
    # At 1,000/s a per cent of a core is 10 µs a request. Four cores at 40 % are 160 %; 100 of them are
    # nginx's.
    found = used(tmp_path, CPU | {"system_cpu_percent": 40, "generator_cpu_percent": 10}, cores=4)
    assert found
    assert dict(found.services or {}) == pytest.approx({"nginx": 1000})
    assert [found.rest, found.total, found.limit] == pytest.approx([600, 1600, 2500])
    assert found.full == "all 4 cores"


@pytest.mark.parametrize("missing", ["cpu_percent.nginx", "system_cpu_percent", "generator_cpu_percent"])
def test_a_resource_that_was_not_measured_gives_no_limit(tmp_path: Path, missing: str) -> None:
    figures = {**CPU, "generator_cpu_percent": 10}
    assert used(tmp_path / "all", figures)
    del figures[missing]
    assert used(tmp_path / "less", figures) is None
