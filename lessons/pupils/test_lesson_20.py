"""Lesson 20: the headers of an application. test_solutions.py starts it as the page says."""

import subprocess
import sys

from printed import changes
from school import Pupil

FOLDER = "lessons/20-the-header-from-the-other-side"
SITE = "site.localhost"
SKIN = {"x_skin": "https://evil.example/skin"}


def test_one_near_miss_after_the_other(pupil: Pupil) -> None:
    pupil.refused(r"Request /price\?\w+ on site\.localhost first")
    headers = pupil.folder / FOLDER / "headers.toml"
    shipped = headers.read_text()
    pupil.start_with("site", SITE="http://127.0.0.1:5000", WITH="upstage")
    with subprocess.Popen([sys.executable, pupil.folder / FOLDER / "application.py"]) as application:
        try:
            pupil.begin(20)
            pupil.get("/price?WORD", SITE)
            pupil.refused(r"/price: Varnish keeps a copy for \d+ s; the page asks for 10")
            right = solved(shipped)
            for line, sentence in (
                ("max-age=0, ", "A browser is to ask each time"),
                ('Vary = "Accept-Language"\n', "a reader of fr got 'Guten Abend'"),
                ("ETag = '\"1\"'\n", "/report: the second request should be answered from a copy"),
                ('Vary = "X-Skin"', "You have not poisoned /news"),
            ):
                headers.write_text(right.replace(line, ""))
                pupil.refused(sentence)
            for skin in (SKIN, {}):
                pupil.get("/news?WORD", SITE, **skin)
            pupil.refused("a visitor still gets the attacker's Link")
            headers.write_text(right.replace('s-maxage=60"\nVary', 'no-store"\nVary'))
            pupil.refused("/news is no longer kept at all")
        finally:
            application.terminate()
            headers.write_text(shipped)
            pupil.start_with("")


def solved(text: str) -> str:
    """The file after the solution's changes."""
    for _, old, new in changes(20):
        text = text.replace(old, new)
    return text
