"""The rows of Locust's table that each shipped class of users fills; `poll`: a webcam's pictures.

A threshold applies to a run only if a class in the run takes such samples. Each row represents its sort: a
threshold's pattern must match one of them. Your own classes, and `Pages`, have to fill none: their rows
depend on the requests of their tasks.
"""

from collections.abc import Iterable

from locust import User

FILES = ("/stages/demo", "/media/*.svg", "/media/audio/*.mp3", "/script/*.js", "/style/*.css", "/image/*.svg")
PAGE = tuple(f"GET {path}" for path in FILES)
# No run has to fill these rows: they need a player who speaks, or a webcam on the stage.
LIVE = ("GET /speech/*.mp3", "GET /media/video-still/*.jpg", "poll /media/video/*.jpg")
VISIT = (*PAGE, "GET /admin/id", *LIVE)
CRAWL = "crawl"  # the type of crawlers' samples, which are not judged
ARRIVAL = ("arrival start", "arrival visit")
SESSION = ("connect", "join", "chat", "heard")
STAGE, WEB = (tuple(f"{kind} {name}" for name in SESSION) for kind in ("stage", "ws"))
OURS = {
    "Audience": (*VISIT, *STAGE),
    "WebAudience": (*VISIT, *WEB),
    "Player": (*VISIT, *STAGE, "POST /admin/login", "stage avatar", "stage move", "stage draw"),
    "Reader": PAGE,
    "Arrivals": (*PAGE, "GET /admin/id", *ARRIVAL),
    "FlashClient": ("policy policy", *STAGE),
    "SlowReader": ("stage connect",),
}


def any_of_ours(picked: Iterable[type[User]]) -> bool:
    """Return whether the rows of at least one of these classes are known."""
    return any(user.__name__ in OURS for user in picked)


def of_run(
    picked: Iterable[type[User]], seen: Iterable[str] | None = None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the rows that the picked classes should fill, and the other known rows.

    `seen`: the rows with samples, if the measurement may be too short for some rows. Then a class that has
    filled one of its rows need not fill the others.
    """
    here = [OURS.get(user.__name__, ()) for user in picked]
    sorts = {sort(row) for row in seen or ()}
    due = {row for rows in here if not sorts & set(map(sort, rows)) for row in rows} - set(LIVE)
    return tuple(sorted(due)), tuple(sorted({row for rows in OURS.values() for row in rows} - due))


def sort(row: str) -> str:
    """Return the sort of a row, its text up to a second slash: `GET /media/audio/*.mp3` -> `GET /media`."""
    return "/".join(row.split("/")[:2])
