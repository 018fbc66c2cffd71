"""Queries to a stack in containers, with an engine that only lists them."""

import subprocess
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from proscenium import running
from proscenium.running import Containers, NotRunning

LISTED = """\
nginx 1a running
varnish 2b exited
nginx 9z exited
varnish-2 3c running
backend 4d paused
mirror 5e running
"""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[list[str]]]:
    """Return asked(listed), which returns the list of later commands; the engine lists these containers."""

    def begin(listed: str) -> list[list[str]]:
        commands: list[list[str]] = []

        def run(command: list[str], **_: object) -> SimpleNamespace:
            commands.append(command)
            said = listed if "ps" in command else "said\n"
            return SimpleNamespace(returncode=0, stdout=said.encode(), stderr=b"")

        monkeypatch.setattr(subprocess, "run", run)
        monkeypatch.setenv("COMPOSE_PROJECT_NAME", "x")
        return commands

    return begin


def test_the_services_that_run_and_those_that_do_not(asked: Callable[[str], list[list[str]]]) -> None:
    commands = asked(LISTED)
    stack = Containers()
    assert stack.services() == ["backend", "mirror", "nginx", "varnish-2"]  # a paused one counts as running
    assert stack.varnishes() == ["varnish-2"]
    assert stack.varnishes(stopped=True) == ["varnish", "varnish-2"]
    assert len(commands) == 1, "the list is asked for once"


def test_what_is_missing_is_named(asked: Callable[[str], list[list[str]]]) -> None:
    commands = asked(LISTED)
    Containers().run("nginx", "true")
    assert commands[-1][3] == "1a", "of two containers, that which runs"
    with pytest.raises(NotRunning, match=r"^varnish is not running"):
        Containers().run("varnish", "true")
    assert Containers().log("varnish") == "said\n"  # found in the earlier list
    asked("")
    with pytest.raises(NotRunning, match=r"^The stack is not running"):
        Containers().varnish("varnishadm", "vcl.list")


def test_every_varnish_answers_and_varnishadm_asks_the_first(asked: Callable[[str], list[list[str]]]) -> None:
    both = "nginx 1a running\nvarnish 2b running\nvarnish-2 3c running\n"
    commands = asked(both)
    assert Containers().varnish("varnishstat", "-j") == "said\nsaid\n"
    assert Containers().varnish("varnishadm", "vcl.list") == "said\n"
    assert [command[3] for command in commands if command[1] == "exec"] == ["2b", "3c", "2b"]
    assert commands[-1][-4:] == ["varnishadm", "-t", "30", "vcl.list"]


def test_upstage_is_asked_on_the_active_server(asked: Callable[[str], list[list[str]]]) -> None:
    commands = asked(LISTED)
    Containers().upstage("metrics")
    assert commands[-1] == ["docker", "exec", "-i", "5e", "upstage", "metrics"]


def test_without_a_stack_there_is_nothing_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STACK_MODE", raising=False)
    running.running.cache_clear()
    with pytest.raises(NotRunning, match="Type: make up"):
        running.running()
