"""Lesson 6: the backend stops, and comes back."""

from school import Pupil


def test_the_model_pupil_is_done(pupil: Pupil) -> None:
    pupil.get("/?WORD")
    pupil.stack.compose("stop", "backend")
    try:
        pupil.wait_until_backend_is("sick")
        pupil.get("/?WORD")
        pupil.get("/stages/?WORD")
        pupil.refused("The backend does not answer yet")
    finally:
        pupil.stack.compose("start", "backend")
    pupil.wait_until_backend_is("healthy")
    pupil.refused("Request /stages/.* once more, to see it come back")
    pupil.get("/stages/?WORD")
    pupil.right()


def test_step_by_step(pupil: Pupil) -> None:
    """Names each missing step; pausing a backend is not stopping it."""
    pupil.refused("Request /.* while the backend runs")
    pupil.get("/?WORD")
    pupil.get("/stages/?WORD")
    with pupil.paused_backend():
        pupil.wait(1)
        pupil.get("/?WORD")
    pupil.refused("You have not requested /.* while Varnish knew that the backend was down")
    with pupil.paused_backend():
        pupil.wait_until_backend_is("sick")
        pupil.get("/?WORD")
        pupil.refused("Request /stages/.* too while the backend is stopped")
        pupil.get("/stages/?WORD")
        pupil.refused("was not a 503 while the backend was stopped: Varnish had a copy of it")
        pupil.get("/stages/?WORD-2")
    pupil.wait_until_backend_is("healthy")
    pupil.refused("The backend was down, but it was not stopped and started")


def test_varnish_was_stopped_instead(pupil: Pupil) -> None:
    pupil.get("/?WORD")
    pupil.restart("varnish")
    pupil.refused("varnish was restarted", code=2)
