"""`make purge` on the running stack: by path and by tag.

varnish/tests test what each purge drops; backend/tests and test_commands.py test the requests for purges.
"""

import uuid

import pytest

from tests.stack import Stack


def hits(stack: Stack, word: str) -> set[tuple[str, str]]:
    """Return the pictures and hosts for which Varnish has a copy; nginx has no copy of a byte range."""
    found = set()
    for picture in ("fox", "diva"):
        for host in ("localhost", "classic.localhost"):
            response = stack.get(f"/media/{picture}.svg?{word}", host, headers={"Range": "bytes=0-9"})
            assert response.status_code == 206
            if "varnish; hit" in response.headers["Cache-Status"]:
                found.add((picture, host))
    return found


@pytest.mark.smoke
def test_a_path_and_a_tag(stack: Stack) -> None:
    word = uuid.uuid4().hex
    hits(stack, word)
    for typed, said, dropped in (
        (f"URL=/media/fox.svg?{word}", "/media/fox.svg on every host, with every query", {"fox"}),
        ("TAG=media", "everything with the tag media", {"fox", "diva"}),
        ("ALL=1", "all copies", {"fox", "diva"}),
    ):
        before = hits(stack, word)
        assert len(before) == 4
        assert f"Varnish has dropped {said}." in stack.make("purge", typed)
        assert before - hits(stack, word) == {each for each in before if each[0] in dropped}
