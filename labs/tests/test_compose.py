"""The Compose files of the labs, merged with those of the stack."""

import json
from typing import Any

import pytest

from labs.bench.experiment import load
from labs.bench.lab_stack import LabStack
from labs.tests.running_lab import LABS, needs_engine
from tests.stack import REPO
from tests.support.checks import check


def merged(*files: str) -> dict[str, Any]:
    """Return the services of a merged configuration; require that Compose finds it consistent."""
    command = ["docker", "compose", "--project-directory", str(REPO), "-p", "x"]
    command += [word for file in files for word in ("-f", file)]
    check(*command, "config", "--quiet")  # with values, because without them Compose checks less
    printed = check(*command, "config", "--no-interpolate", "--format", "json")
    return json.loads(printed)["services"]  # type: ignore[no-any-return]


@needs_engine
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_a_labs_services_exist_publish_nothing_and_are_hardened(lab: Any) -> None:
    experiment = load(lab, "full")
    files = LabStack(lab, experiment.services).files
    found = merged(*map(str, files))
    of_the_stack = merged(*(str(file) for file in files if REPO / "labs" not in file.parents))
    assert set(experiment.services) <= found.keys()
    for name, service in found.items():
        assert not service.get("ports"), name
        if name in of_the_stack:
            continue
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["user"].partition(":")[0] not in ("", "0", "root"), name
        assert service["init"], name
        if name != "generator":  # the load must not be limited
            assert 0 < service["pids_limit"] <= 512, name
            assert service["mem_limit"] in ("512m", "536870912"), name
            assert service["healthcheck"]["interval"] == "${HEALTH_INTERVAL:-1s}", name
