"""`make purge`: by path and by tag, on the running stack."""

import uuid

import pytest

from stack import Stack

PICTURES = ("fox", "diva")
HOSTS = ("localhost", "classic.localhost")


def outcomes(stack: Stack, word: str) -> dict[tuple[str, str], str]:
    """Hit or miss of each picture on each host. nginx has no copy of a byte range."""
    found = {}
    for picture in PICTURES:
        for host in HOSTS:
            answer = stack.get(f"/media/{picture}.svg?{word}", host, headers={"Range": "bytes=0-9"})
            assert answer.status_code == 206
            found[picture, host] = "hit" if "varnish; hit" in answer.headers["Cache-Status"] else "miss"
    return found


def all_are(what: str, picture: str = "") -> dict[tuple[str, str], str]:
    """That outcome for everything, or a miss for one of the pictures."""
    return {(name, host): "miss" if name == picture else what for name in PICTURES for host in HOSTS}


@pytest.mark.smoke
def test_a_path_a_file_s_tag_and_all_media(stack: Stack) -> None:
    word = uuid.uuid4().hex
    assert outcomes(stack, word) == all_are("miss")
    assert outcomes(stack, word) == all_are("hit")

    printed = stack.make("purge", f"URL=/media/fox.svg?{word}")
    assert "Varnish has dropped /media/fox.svg on every host, with every query." in printed
    assert outcomes(stack, word) == all_are("hit", "fox")

    printed = stack.make("purge", f"URL={stack.url('/media/diva.svg', 'classic.localhost')}")
    assert "dropped /media/diva.svg on every host" in printed
    assert outcomes(stack, word) == all_are("hit", "diva")

    assert "everything with the tag medium-diva-svg" in stack.make("purge", "TAG=medium-diva-svg")
    assert outcomes(stack, word) == all_are("hit", "diva")

    stack.make("purge", "TAG=media")
    assert outcomes(stack, word) == all_are("miss")
