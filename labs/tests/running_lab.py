"""The functions that the tests of the labs share."""

import os

import pytest

from tests.stack import REPO

LABS = [path.parent for path in sorted((REPO / "labs").glob("*/lab.toml"))]
PROJECT = os.environ.get("COMPOSE_PROJECT_NAME", "proscenium") + "-test-lab"
needs_engine = pytest.mark.skipif(os.environ.get("ENGINE") == "no", reason="no container engine can run here")
