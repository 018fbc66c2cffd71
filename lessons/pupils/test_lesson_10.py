"""Lesson 10: compression in Varnish and in nginx."""

from printed import changes
from school import Pupil
from support.wait import wait_until

IN_VARNISH, IN_NGINX = changes(10)
DIVA = "/media/diva.svg?WORD"


def request(pupil: Pupil, path: str, host: str = "localhost", *accepted: str) -> None:
    """With each value of Accept-Encoding."""
    for value in accepted or ("gzip", "identity"):
        pupil.get(path, host, accept_encoding=value)


def gzip_in_nginx(pupil: Pupil) -> None:
    pupil.edit(*IN_NGINX)
    pupil.reload()
    # nginx's new workers take over a moment later.
    wait_until(lambda: pupil.get(f"{DIVA}-2", accept_encoding="gzip").headers.get("Content-Encoding"))


def test_step_by_step(pupil: Pupil) -> None:
    """Names each missing step; lookalikes do not count."""
    pupil.get(DIVA, method="HEAD", accept_encoding="gzip")
    pupil.get(DIVA, method="HEAD", accept_encoding="identity")
    pupil.refused(r"Request /media/diva\.svg\?\w+ first, with GET")
    request(pupil, "/media/letter.svg?WORD")  # 788 bytes
    request(pupil, "/media/bench/small.swf?WORD")
    pupil.refused("Varnish has compressed no picture with your word")
    request(pupil, "/media/fox.svg?WORD", "localhost", "br", "identity")
    pupil.refused("Request the picture with Accept-Encoding: gzip too")
    pupil.begin(10)
    request(pupil, "/media/fox.svg?WORD", "localhost", "gzip")
    request(pupil, "/media/fox.svg?WORD", "classic.localhost", "identity")
    pupil.refused("Request the picture with Accept-Encoding: identity too")
    request(pupil, f"{DIVA}-1", "localhost", "identity")
    pupil.refused("Different URLs are different objects")
    request(pupil, DIVA)
    pupil.refused("Varnish has compressed this picture with your word each time")
    pupil.edit(*IN_VARNISH)
    pupil.reload()
    request(pupil, f"{DIVA}-2")
    for host in ("classic.localhost", "nginx.localhost"):  # there nginx compresses
        request(pupil, f"{DIVA}-2", host)
    pupil.get(f"{DIVA}-2", range="bytes=0-9")
    pupil.refused("nginx has sent the copy that Varnish did not compress as it was")
    gzip_in_nginx(pupil)
    request(pupil, f"{DIVA}-2")
    pupil.refused("Now bring the shipped files back")


def test_compressed_by_nginx_before_varnish_let_go(pupil: Pupil) -> None:
    """nginx passes on unchanged what Varnish has compressed."""
    request(pupil, DIVA)
    gzip_in_nginx(pupil)
    request(pupil, f"{DIVA}-2")
    pupil.refused("Varnish has compressed this picture with your word each time")
