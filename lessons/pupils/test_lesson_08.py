"""Lesson 8: conditional requests, from the client and from the cache."""

from printed import changes
from school import Pupil

CLASSIC = "classic.localhost"
GARDEN = "/media/moonlit-garden.svg?WORD"
FOX = "/media/fox.svg?WORD"


def test_step_by_step(pupil: Pupil) -> None:
    """Names each missing step; lookalikes do not count."""
    etag = pupil.get(GARDEN, CLASSIC).headers["ETag"]
    none = "No request with If-None-Match has reached Varnish"
    pupil.get(GARDEN, if_none_match=etag)  # nginx compares
    pupil.get(GARDEN, CLASSIC, range="bytes=0-9")
    pupil.get(GARDEN, CLASSIC, if_modified_since="Fri, 01 Jan 2100 00:00:00 GMT")
    pupil.refused(none)
    pupil.get(GARDEN, "static.localhost", if_none_match=etag)
    pupil.refused(r"static\.localhost answers from nginx's disk")
    pupil.get(GARDEN, CLASSIC, if_none_match="*")
    pupil.refused("matches anything")
    pupil.get(GARDEN, CLASSIC, if_none_match='"another"')
    pupil.get(f"{GARDEN}-2", CLASSIC, accept_encoding="identity", if_none_match=etag)  # 304, but fetched
    pupil.refused("None of your requests with If-None-Match was a 304 from a cached copy")
    own = pupil.get(GARDEN, CLASSIC, "HEAD", accept_encoding="identity").headers["ETag"]
    pupil.get(GARDEN, CLASSIC, "HEAD", accept_encoding="identity", if_none_match=f"W/{own}")
    pupil.get(FOX)
    pupil.refused("No picture was stored for 2 seconds")
    pupil.edit(*changes(8)[0])
    pupil.reload()
    pupil.get(f"{FOX}-2")
    pupil.get(f"{FOX}-3")
    copy = pupil.get(f"{FOX}-2", "nginx.localhost")
    pupil.get(f"{FOX}-2", "nginx.localhost", if_none_match=copy.headers["ETag"])  # 304 from the backend
    pupil.refused("The backend has not confirmed a copy yet")
    pupil.wait(2)
    pupil.get(f"{FOX}-2")
    pupil.refused("Now bring the 12 hours back")


def test_a_304_that_the_vcl_made(pupil: Pupil) -> None:
    """A copy was found and 304 was sent, but not for the ETag of the object; then the VCL was put back."""
    rule = 'sub vcl_deliver { set resp.http.ETag = {""x""}; set resp.status = 304; }'
    pupil.append("varnish/classic.vcl", f"\n{rule}\n")
    pupil.reload()
    for _ in range(2):
        assert pupil.get(GARDEN, CLASSIC, if_none_match='"x"').status_code == 304
    pupil.refused(r"varnish/classic\.vcl differs from the shipped file")
    pupil.restore()
    pupil.refused("None of your requests with If-None-Match was a 304 from a cached copy")
