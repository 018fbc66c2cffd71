"""labs/stores: which stores lose records."""

import pytest

from labs.bench.drivers import stores
from labs.bench.experiment import load
from labs.bench.lab_stack import LabStack
from labs.tests.running_lab import measure_briefly, needs_engine
from tests.stack import REPO

LAB = "stores"
CELLS = load(REPO / "labs" / LAB, "full").cells
SETTINGS = {str(cell.key["store"]): cell.settings for cell in CELLS if cell.driver == "stores"}
COUNTS = ("lost_records", "doubled_records", "damaged_records", "errors", "crashes", "malformed_files")


def measured(lab: LabStack, store: str, workers: str, writers: int = 4, runs: int = 5) -> dict[str, float]:
    return stores.measure(lab, {**SETTINGS[store], "workers": workers, "writers": writers, "runs": runs})


@needs_engine
@pytest.mark.slow
class TestStores:
    def test_every_driver_measures(self, lab: LabStack) -> None:
        assert measure_briefly(lab, LAB)["malformed"]["completed_percent"] == 100, "the last has its remedy"

    @pytest.mark.parametrize(
        ("store", "workers", "writers"),
        [
            *((store, "processes", 4) for store in ("flat-locked", "rollback", "wal")),
            *((store, "threads", 4) for store in ("flat-locked", "rollback", "wal", "one-writer")),
            *((store, "threads", 1) for store in ("flat", "wal-deferred", "no-mutexes", "one-writer")),
        ],
    )
    def test_a_store_that_keeps_its_writers_apart_or_has_only_one_loses_nothing(
        self, lab: LabStack, store: str, workers: str, writers: int
    ) -> None:
        found = measured(lab, store, workers, writers)
        assert found["completed_percent"] == 100, found
        assert not any(found[name] for name in COUNTS)
        assert found["operations_per_second"] > 0

    @pytest.mark.parametrize(
        ("store", "workers", "counts"),
        [
            ("flat", "processes", ["lost_records", "doubled_records"]),
            ("shared", "threads", ["errors"]),
            ("no-mutexes", "threads", ["errors"]),
        ],
    )
    def test_a_store_that_does_not_loses_records_or_fails(
        self, lab: LabStack, store: str, workers: str, counts: list[str]
    ) -> None:
        found = measured(lab, store, workers, runs=25)
        assert found["completed_percent"] < 100
        assert all(found[name] for name in counts), found
