"""The images that are built from this checkout."""

import json
import os
import shutil
from pathlib import Path

import pytest

from stack import REPO
from test_static import check

pytestmark = pytest.mark.skipif(os.environ.get("ENGINE") == "no", reason="no container engine can run here")


def test_policyd_runs_when_built_from_a_checkout_of_a_strict_umask(tmp_path: Path) -> None:
    """COPY keeps the modes of the files, and the container's user is not their owner."""
    copy = shutil.copytree(REPO / "policyd", tmp_path / "policyd")
    check("chmod", "-R", "go=", copy)
    service = json.loads(check("docker", "compose", "config", "--format", "json"))["services"]["policyd"]
    base = f"PYTHON_IMAGE={service['build']['args']['PYTHON_IMAGE']}"
    image = "proscenium/test-strict-umask"
    check("docker", "build", "-q", "-t", image, "--build-arg", base, copy)
    try:
        assert "Flash socket policy daemon" in check("docker", "run", "--rm", image, "--help")
    finally:
        check("docker", "image", "rm", image)
