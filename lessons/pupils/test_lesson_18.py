"""Lesson 18: two load models meet the same pause. tests/test_load_models.py has what three runs can be."""

import threading

from school import Pupil


def test_one_run_with_a_pause_and_one_without(pupil: Pupil) -> None:
    pupil.refused("nginx has no requests of a run")

    pupil.stack.make("load", "EXAMPLE=11", "TIME=10s")
    pupil.refused("after its warm-up, too few")

    pause = threading.Timer(18, lambda: pause_for(pupil, 2))
    pause.start()
    pupil.stack.make("load", "EXAMPLE=11", "TIME=27s")
    pause.join()
    pupil.refused("The pause is in one of the two percentiles only.*3 runs are needed, these are 1")


def pause_for(pupil: Pupil, seconds: float) -> None:
    with pupil.paused_backend():
        pupil.wait(seconds)
