"""The rows of Locust's table that each class of users can fill; `poll`: a webcam's pictures.

A threshold applies to a run only if a class in it takes such samples. Each row represents its kind: the
thresholds' patterns must match one of them.
"""

from collections.abc import Iterable

from locust import User

from users.browser import Browser
from users.player import SignedInVisitor
from users.visitor import StageVisitor

FILES = ("/stages/demo", "/media/*.svg", "/media/audio/*.mp3", "/script/*.js", "/style/*.css", "/image/*.svg")
PAGE = tuple(f"GET {path}" for path in FILES)
# No run has to fill these: they need a player who speaks, or a webcam on the stage.
LIVE = ("GET /speech/*.mp3", "GET /media/video-still/*.jpg", "poll /media/video/*.jpg")
SESSION = ("connect", "join", "chat", "heard")
# Classes that are not based on one of ours.
OTHERS = {
    "FlashClient": ("policy policy", *(f"stage {name}" for name in SESSION)),
    "SlowReader": ("stage connect",),
    "Pages": (),  # any paths: the site decides
}


def possible(user: type[User]) -> tuple[str, ...] | None:
    """The rows of this class; None if it is unknown, because then it may fill any."""
    if not issubclass(user, Browser):
        return OTHERS.get(user.__name__)
    rows = PAGE
    if issubclass(user, StageVisitor):
        rows += ("GET /admin/id", *LIVE)
        rows += tuple(f"{user.row_type} {name}" for name in SESSION)
    if issubclass(user, SignedInVisitor):
        rows += ("POST /admin/login", *(f"{user.row_type} {name}" for name in ("avatar", "move", "draw")))
    return rows


def of_run(
    picked: Iterable[type[User]], available: Iterable[type[User]], seen: Iterable[str] | None = None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The rows that the picked classes should fill, and the others that are known.

    `seen`: the rows with samples, if the measurement may be too short for some. Then a class that has
    filled one of its rows need not fill the others. An unknown class should fill every row that is known.
    """
    here = [possible(user) for user in picked]
    known = {row for user in available for row in possible(user) or ()}
    sorts = {sort(row) for row in seen or ()}
    due = {row for rows in here if rows and not sorts & set(map(sort, rows)) for row in rows}
    due = (known if None in here else due) - set(LIVE)
    return tuple(sorted(due)), tuple(sorted(known - due))


def sort(row: str) -> str:
    """A row without the name of its file or stage: `GET /media`."""
    return "/".join(row.split("/")[:2])
