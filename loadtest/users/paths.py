"""Paths of the server: their caching rule, and their row in Locust's table.

The rules are those of docs/caching-rules.md: responses that Varnish always stores, or never stores.
"""

import re
from pathlib import PurePosixPath

STORED_FOLDERS = ("/media/", "/speech/")
STORED_ENDING = re.compile(r"\.(png|gif|jpe?g|ico|svg|swf|css|js|mp3|woff2)$")
POLLED_FOLDER = "/media/video/"
PASSED_FOLDERS = ("/admin/", "/swf/", "/ws/", POLLED_FOLDER)
# The folder of a page asset contains a version, which must not be part of a row.
VERSIONED_FOLDERS = ("style", "script", "image")


def passed(path: str) -> bool:
    """Return whether no cache may answer: the response is private, or valid only for a moment."""
    return f"{path}/".startswith(PASSED_FOLDERS)


def stored(path: str) -> bool:
    """Return whether a cache must answer the second request."""
    if passed(path):
        return False
    return path.startswith(STORED_FOLDERS) or bool(STORED_ENDING.search(path))


def polled(path: str) -> bool:
    """Return whether the path is a webcam's picture, which clients request repeatedly."""
    return path.startswith(POLLED_FOLDER)


def spoken(path: str) -> bool:
    """Return whether the path is a spoken line, which all clients on a stage request at the same moment."""
    return path.startswith("/speech/")


def held(path: str) -> bool:
    """Return whether the backend may hold the response, until there is a new picture or a recorded line."""
    return polled(path) or spoken(path)


def row(path: str) -> str:
    """Return the row of Locust's table for this path: pages by name, files by folder and type.

    `/media/audio/bell.mp3` counts as `/media/audio/*.mp3`, `/script/VERSION/main.js` as `/script/*.js`.
    """
    file = PurePosixPath(path)
    if not file.suffix:
        return path
    folder = file.parts[1] if file.parts[1] in VERSIONED_FOLDERS else str(file.parent).strip("/")
    return f"/{folder}/*{file.suffix}" if folder else path
