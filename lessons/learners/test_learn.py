"""`make learn` in a terminal: from the first line of a lesson to the next lesson."""

import os
import pty
import re
import signal
import subprocess
import threading
from contextlib import suppress

from lessons.checking.learn import CLEAR
from lessons.learners.school import Learner
from tests.support.wait import wait_until

RIGHT = "43200 "  # the beginning of the right answer


def test_a_lesson_from_its_first_line_to_the_next(learner: Learner) -> None:
    learner.begin(1)
    ours, theirs = pty.openpty()
    printed = bytearray()

    def read() -> None:
        with suppress(OSError):  # the terminal is gone
            while data := os.read(ours, 65536):
                printed.extend(data)

    def shown(sentence: str) -> re.Match[str]:
        """Wait until a sentence is on the screen, with line breaks read as one space, and without colours."""

        def found() -> re.Match[str]:
            text = printed.decode(errors="replace").rpartition(CLEAR)[2]
            match = re.search(sentence, re.sub(r"\s+", " ", re.sub(r"\033\[\d*m", "", text)))
            assert match, text
            return match

        return wait_until(found, within=60)

    def press(keys: str) -> None:
        os.write(ours, keys.encode())

    window = subprocess.Popen(
        ["make", "learn", "LESSON=1"],
        cwd=learner.folder,
        env=learner.stack.environment | {"TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    try:
        threading.Thread(target=read, daemon=True).start()
        shown(f"fox.svg.{learner.word}.*Not done yet: You have not requested /media/fox.svg")
        learner.get("/media/fox.svg?WORD")
        shown("One request was a miss. Request the same URL again")
        learner.do_lesson_1()
        right = shown(rf"Lesson 1: First hit.*One question is left.* ([a-d])\) {RIGHT}.*a b c d answer")[1]
        press(right)
        shown(r"Lesson 1 is done: First hit\..*n next lesson")
        press("l2\r")
        shown("Lesson 2: How long is fresh.*Not done yet")
        learner.edit("varnish/media.vcl", "ttl = 12h", "ttl = 60s")
        shown("is saved, but Varnish has not loaded it")
        press("q")
        assert window.wait(60) == 0
    finally:
        if window.poll() is None:
            os.killpg(window.pid, signal.SIGTERM)


def test_without_a_terminal(learner: Learner) -> None:
    code, said = learner.run("bin/lesson", "learn", "1")
    assert (code, "make learn needs a terminal" in said) == (2, True)
