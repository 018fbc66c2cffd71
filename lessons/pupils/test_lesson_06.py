"""Lesson 6: the backend stops, and comes back."""

import pytest

from school import Pupil
from support.wait import wait_until


def wait_for(pupil: Pupil, state: str) -> None:
    """Wait until the health probe has found the backend `sick` or `healthy`."""
    wait_until(lambda: states(pupil) == {state}, within=60, every=0.5)
    pupil.wait(2.1)  # classic.localhost has a VCL and a probe of its own


def states(pupil: Pupil) -> set[str]:
    """What the probe of the VCL in use says."""
    listed = pupil.stack.compose(
        "exec", "-T", "varnish", "varnishadm", "-n", "/var/lib/varnish/varnishd", "backend.list"
    )
    return {state for state in ("sick", "healthy") if state in listed}


@pytest.fixture(autouse=True)
def begin(pupil: Pupil) -> None:
    pupil.begin(6)


def test_the_model_pupil_is_done(pupil: Pupil) -> None:
    pupil.get("/?WORD")
    pupil.stack.compose("stop", "backend")
    try:
        wait_for(pupil, "sick")
        pupil.get("/?WORD")
        pupil.get("/stages/?WORD")
        pupil.refused("The backend does not answer yet")
    finally:
        pupil.stack.compose("start", "backend")
    wait_for(pupil, "healthy")
    pupil.get("/stages/?WORD")
    pupil.right()


def test_step_by_step(pupil: Pupil) -> None:
    """Each step that is missing is named; to pause a backend is not to stop it."""
    pupil.refused("Request /.* while the backend runs")
    pupil.get("/?WORD")
    pupil.get("/stages/?WORD")
    pupil.stack.compose("pause", "backend")
    try:
        pupil.wait(1)
        pupil.get("/?WORD")
    finally:
        pupil.stack.compose("unpause", "backend")
    pupil.refused("You have not requested /.* while Varnish knew that the backend was down")
    pupil.stack.compose("pause", "backend")
    try:
        wait_for(pupil, "sick")
        pupil.get("/?WORD")
        pupil.refused("Request /stages/.* too while the backend is stopped")
        pupil.get("/stages/?WORD")
        pupil.refused("was no 503 while the backend was stopped: Varnish had a copy of it")
        pupil.get("/stages/?WORD-2")
    finally:
        pupil.stack.compose("unpause", "backend")
    wait_for(pupil, "healthy")
    pupil.refused("The backend was down, but it was not stopped and started")


def test_a_503_from_another_file(pupil: Pupil) -> None:
    pupil.append(
        "varnish/pages.vcl", 'sub vcl_recv { if (req.url ~ "^/stages/") { return (synth(503)); } }\n'
    )
    pupil.reload()
    pupil.refused(r"varnish/pages\.vcl is not as the project ships it")


def test_varnish_was_stopped_instead(pupil: Pupil) -> None:
    pupil.get("/?WORD")
    pupil.stack.restart("varnish")
    pupil.refused("varnish was started again", code=2)
