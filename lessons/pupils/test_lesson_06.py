"""Lesson 6: the backend stops, and comes back."""

from school import Pupil


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
        pupil.refused("The backend does not answer yet")
    pupil.wait_until_backend_is("healthy")
    pupil.refused("The backend was down, but it was not stopped and started")
    pupil.restart("backend")
    pupil.refused("The backend was running when you got the old copy")


def test_varnish_was_stopped_instead(pupil: Pupil) -> None:
    pupil.get("/?WORD")
    pupil.restart("varnish")
    pupil.refused("varnish was restarted", code=2)
