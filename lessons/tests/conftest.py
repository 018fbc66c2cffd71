"""The settings that bin/lesson gives to a check."""

import pytest

from lessons.lesson import PORTS


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the settings of a stack on the default ports, which does not run."""
    for name, value in {**PORTS, "COMPOSE_PROJECT_NAME": "x", "BIND_ADDR": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
