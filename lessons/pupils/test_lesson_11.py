"""Lesson 11: connections that nginx keeps open."""

import requests

from printed import solution
from school import Pupil

FILE = "nginx/sites/classic.conf"
HOST = "classic.localhost"
(POOL,) = (block.text for block in solution(11) if block.language == "nginx")  # the other way


def thirty(pupil: Pupil, name: str, host: str = HOST) -> None:
    """Thirty URLs, each over a connection of the client's own."""
    for number in range(30):
        pupil.get(f"/media/fox.svg?WORD-{name}-{number}", host)


def keep_open(pupil: Pupil) -> None:
    """A pool of connections, in the version of HTTP that has them."""
    pupil.edit(FILE, "server {\n", f"{POOL}\nserver {{\n")
    pupil.edit(FILE, "http://$varnish_tcp", "http://kept")
    pupil.edit(FILE, "        proxy_http_version 1.0;\n", "")
    pupil.reload()


def test_one_near_miss_after_the_other(pupil: Pupil) -> None:
    pupil.refused(r"Thirty requests for /media/fox\.svg")

    thirty(pupil, "default", "localhost")
    pupil.refused("You asked localhost, whose connections nginx already keeps")

    # As one curl with thirty URLs: its own connection is kept, and no other.
    with requests.Session() as client:
        for number in range(30):
            url = pupil.stack.url(f"/media/fox.svg?{pupil.word}-{number}", "127.0.0.1")
            client.get(url, headers={"Host": HOST})
    pupil.refused(r"take nginx 30 connections to Varnish, with HTTP/1\.0")

    pupil.edit(FILE, "        proxy_http_version 1.0;\n", "")
    pupil.reload()
    thirty(pupil, "still")
    pupil.refused(r"take nginx 30 connections to Varnish, with HTTP/1\.1")

    pupil.edit(FILE, "http://$varnish_tcp", "http://varnish")
    pupil.refused("nginx has not loaded what is saved")

    pupil.reload()
    pupil.refused("but you have not seen it: repeat the thirty requests")

    thirty(pupil, "after")
    pupil.refused("No request with your word has come over HTTP/2 yet")


def test_changed_before_it_was_seen(pupil: Pupil) -> None:
    keep_open(pupil)
    pupil.wait(2)  # until the workers are replaced
    thirty(pupil, "after")
    pupil.refused("The first thirty were not thirty connections")


def test_a_way_around_varnish(pupil: Pupil) -> None:
    thirty(pupil, "before")
    pupil.edit(FILE, "http://$varnish_tcp", "http://backend")
    pupil.reload()
    pupil.refused("Varnish has seen 0 of thirty requests")
