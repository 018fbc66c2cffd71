"""labs/distance: both topologies lead to one stage; a container's TCP settings are as in the README."""

import re

import pytest

from labs.bench.drivers import connections, preload
from labs.bench.experiment import load
from labs.bench.lab_stack import LabStack
from labs.tests.running_lab import needs_engine
from tests.stack import REPO

LAB = "distance"
FOLDER = REPO / "labs" / LAB
# `name` | where: "each container's own", "the machine's" or "gone"
SETTINGS = re.findall(r"^\| `(net\.[a-z0-9_.]+)` \| ([^|]+) \|", (FOLDER / "README.md").read_text(), re.M)


@needs_engine
@pytest.mark.slow
class TestLab:
    @pytest.mark.parametrize("topology", ["direct", "default"])
    def test_a_visitor_receives_the_whole_stage(self, lab: LabStack, topology: str) -> None:
        cell = next(cell for cell in load(FOLDER, "full").cells if cell.key.get("topology") == topology)
        near = {"clients": 2, "round_trip": 20, "megabits": 1_000, "timeout": 60}
        figures = preload.measure(lab, {**cell.settings, **near})
        assert figures["loaded_percent"] == 100
        assert figures["requests"] >= 2 * 108
        # 21.5 MB each, which a link of this bandwidth carries within 170 ms and a few round trips.
        assert figures["bytes_per_second"] * figures["seconds"] > 2 * 20_000_000
        assert figures["p50_milliseconds"] > 170

    def test_the_side_that_closes_first_keeps_the_port(self, lab: LabStack) -> None:
        for cell in load(FOLDER, "full").cells:
            if cell.driver != "connections":
                continue
            figures = connections.measure(lab, {**cell.settings, "seconds": 3})
            if (cell.key["reuse"], cell.key["closes"]) == ("off", "client"):
                assert 900 <= figures["requests"] <= 1_000, "the range of ports"
                assert figures["attempts_without_a_port"] > 0
            else:
                assert figures["requests"] > 1_000, cell.key

    @pytest.mark.parametrize(("name", "where"), SETTINGS, ids=[name for name, _ in SETTINGS])
    def test_a_setting_exists_where_the_readme_says(self, lab: LabStack, name: str, where: str) -> None:
        path = f"/proc/sys/{name.replace('.', '/')}"
        found = lab.run("generator", "sh", "-c", f"test -e {path} && echo there || true").strip() == "there"
        assert found == (where == "each container's own")
