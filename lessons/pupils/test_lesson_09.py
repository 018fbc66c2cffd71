"""Lesson 9: purge by path and by tag."""

from school import Pupil

HOSTS = ("localhost", "classic.localhost")
FOX, DIVA = "/media/fox.svg?WORD", "/media/diva.svg?WORD"


def look(pupil: Pupil, *pictures: str) -> None:
    """Request the pictures on both hosts."""
    for host in HOSTS:
        for picture in pictures or (FOX, DIVA):
            pupil.get(picture, host, "HEAD")


def purge(pupil: Pupil, what: str) -> None:
    pupil.stack.make("purge", what.replace("WORD", pupil.word))


def test_step_by_step(pupil: Pupil) -> None:
    """Names each missing step; lookalikes do not count."""
    pupil.refused(r"Request /media/fox\.svg\?\w+ on localhost first")
    pupil.get(FOX)
    pupil.refused(r"Request /media/diva\.svg\?\w+ on localhost first")
    pupil.get(DIVA)
    purge(pupil, "URL=/media/fox.svg")
    look(pupil)
    pupil.refused(r"were not in the cache on classic\.localhost when you purged")
    purge(pupil, "URL=/media/fox.svg")
    pupil.refused("Request the fox on localhost once more")
    pupil.get(FOX, HOSTS[0], "HEAD")
    pupil.refused("Request the diva on localhost too")
    pupil.get(DIVA, HOSTS[0], "HEAD")
    pupil.refused(r"Request the fox on classic\.localhost once more")
    look(pupil)
    pupil.refused("Try the purge from outside too")
    pupil.get(FOX, method="PURGE")
    purge(pupil, "URL=/media/diva.svg")
    purge(pupil, "TAG=media")
    look(pupil)
    pupil.refused("The diva has not gone by its own tag yet")
    purge(pupil, "TAG=medium-diva-svg")
    pupil.refused("Request the diva on localhost once more")


def test_everything_is_gone(pupil: Pupil) -> None:
    """A ban of everything does not count as a purge of the fox, and spoils one that follows."""
    look(pupil)
    pupil.stack.inside("varnishadm", "ban", "req.url ~ .")
    for picture in (FOX, DIVA):
        pupil.get(picture, "classic.localhost", "HEAD", cache_control="no-cache")
    pupil.refused("You have not purged the fox yet")
    purge(pupil, f"URL={FOX}")
    pupil.stack.inside("varnishadm", "ban", "req.url ~ .")
    look(pupil)
    pupil.refused("On localhost the diva went as well")


def test_a_purge_that_all_may_send(pupil: Pupil) -> None:
    pupil.edit("varnish/purge.vcl", 'if (local.socket == "purge")', 'if (req.method == "PURGE")')
    pupil.reload()
    look(pupil)
    assert pupil.get(FOX, method="PURGE").status_code == 200
    look(pupil)
    pupil.refused(r"varnish/purge\.vcl differs from the shipped file")
    pupil.restore()
    pupil.refused("You have not purged the fox yet")
    purge(pupil, f"URL={FOX}")
    look(pupil)
    pupil.refused("A purge from outside was answered with 200")
