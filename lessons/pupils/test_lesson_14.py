"""Lesson 14: a client that does not read."""

import socket

from school import Pupil

PROGRAM = "lessons/14-a-client-that-does-not-read/slow_reader.py"
FILE = "nginx/streams/stage.conf.template"


def run(pupil: Pupil, stage: str = "rehearsal") -> str:
    """Run the page's program; return its output."""
    program = (pupil.folder / PROGRAM).read_text().replace("rehearsal", stage)
    return pupil.stack.compose("exec", "-T", "locust", "python", "-", typed=program)


def enlarge(pupil: Pupil, listener: str = "LISTEN_STAGE") -> None:
    """Save a larger buffer for a listener."""
    pupil.edit(FILE, f"${{{listener}}} sndbuf=64k", f"${{{listener}}} sndbuf=1m")


def test_one_near_miss_after_the_other(pupil: Pupil) -> None:
    pupil.refused("The backend has not cut off any client")

    with socket.create_connection(("127.0.0.1", pupil.stack.ports["SWF_PORT"])) as client:
        client.sendall(b"x" * 3000 + b"\0" + b"x" * 3000 + b"\0")
        while client.recv(4096):  # until the stage has closed the connection
            pass
    pupil.refused(r"for another reason \(overlong\)")

    run(pupil, "demo")
    pupil.refused("cut off on the stage demo")

    run(pupil)
    pupil.refused("Now give it a larger buffer")

    enlarge(pupil, "LISTEN_LOAD_STAGE")
    pupil.refused("nginx has not loaded what is saved")

    pupil.reload()
    run(pupil)
    pupil.refused("the buffer of LISTEN_STAGE is not larger, or not loaded")


def test_changed_before_it_was_seen(pupil: Pupil) -> None:
    enlarge(pupil)
    pupil.reload()
    run(pupil)
    pupil.refused("the larger buffer was there already")
