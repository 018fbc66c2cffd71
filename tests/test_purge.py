"""`make purge` on the running stack: by path and by tag. (What each drops: varnish/tests, backend/tests.)"""

import uuid

import pytest

from tests.stack import Stack


def hits(stack: Stack, word: str) -> set[tuple[str, str]]:
    """The pictures and hosts that Varnish has a copy for. nginx has none of a byte range."""
    found = set()
    for picture in ("fox", "diva"):
        for host in ("localhost", "classic.localhost"):
            answer = stack.get(f"/media/{picture}.svg?{word}", host, headers={"Range": "bytes=0-9"})
            assert answer.status_code == 206
            if "varnish; hit" in answer.headers["Cache-Status"]:
                found.add((picture, host))
    return found


@pytest.mark.smoke
def test_a_path_an_address_a_file_s_tag_and_all_media(stack: Stack) -> None:
    word = uuid.uuid4().hex
    address = stack.url("/media/diva.svg", "classic.localhost")
    hits(stack, word)
    for typed, said, dropped in (
        (f"URL=/media/fox.svg?{word}", "/media/fox.svg on every host, with every query", {"fox"}),
        (f"URL={address}", "/media/diva.svg on every host, with every query", {"diva"}),
        ("TAG=medium-diva-svg", "everything with the tag medium-diva-svg", {"diva"}),
        ("TAG=media", "everything with the tag media", {"fox", "diva"}),
    ):
        before = hits(stack, word)
        assert len(before) == 4
        assert f"Varnish has dropped {said}." in stack.make("purge", typed)
        assert before - hits(stack, word) == {each for each in before if each[0] in dropped}
