"""The files and the links that a page names."""

import pytest

from users.page import assets, links

HOME = "http://upstage.localhost:8000/stages/demo"
FETCHED = """
<LINK REL="preload stylesheet" HREF="/style/v/main.css">
<link rel="shortcut icon" href="/favicon.ico"><link rel=modulepreload href=/script/v/a.js>
<link rel="preload" as="image" href="/media/a.svg">
<link rel="preload" as="audio" href="/media/b.mp3"><link rel="prefetch" href="/media/f.mp3">
<script type="module" src="/script/v/main.js"></script>
<img src="/media/c.svg"/><audio src="/media/d.mp3"></audio>
<audio><source src="/media/e.mp3"></audio>
"""
NOT_FETCHED = """
<link rel="canonical" href="/x"><link href="/y"><link rel="stylesheet"><a href="/z">z</a>
<script>let inline = '<img src="/in-a-script.svg">'</script><img><img src="">
<!-- <img src="/in-a-comment.svg"> -->
"""
ELSEWHERE = """
<img src="http://elsewhere.example/a.svg"><img src="//elsewhere.example/a.svg">
<img src="https://upstage.localhost:8000/a.svg"><img src="http://upstage.localhost/a.svg">
<img src="data:image/svg+xml,x"><img src="http://upstage.localhost:8000/media/a.svg">
"""
ESCAPED = '<img src="../media/a.svg"><img src=" /media/b.svg?x=1&amp;y=2#part ">'
UNREADABLE = '<img src="/a.svg"><![strange[<img src="/b.svg">'  # for Python's parser
LINKS = """
<a href="/b">b</a><A HREF="a?x=1&amp;y=2#part">a</A><a href="/b#again">b</a><a name="anchor">no link</a>
<a href="http://elsewhere.example/c">c</a><a href="//elsewhere.example">d</a><a href="mailto:a@b.c">m</a>
<a href="http://[">broken</a><a href="?page=2">2</a><link rel="stylesheet" href="/s.css"><img src="/i">
"""


@pytest.mark.parametrize(
    ("html", "files"),
    [
        (FETCHED, "/style/v/main.css /favicon.ico /script/v/a.js /media/a.svg /media/b.mp3 /media/f.mp3"
         " /script/v/main.js /media/c.svg /media/d.mp3 /media/e.mp3"),
        (NOT_FETCHED, ""),
        (ELSEWHERE, "/media/a.svg"),
        (ESCAPED, "/media/a.svg /media/b.svg?x=1&y=2"),
        (UNREADABLE, "/a.svg"),
    ],
    ids=["fetched", "not fetched", "on other servers", "relative and escaped", "unreadable"],
)  # fmt: skip
def test_the_files_of_a_page_are_those_that_a_browser_fetches_from_its_server_in_order(
    html: str, files: str
) -> None:
    assert [url.removeprefix("http://upstage.localhost:8000") for url in assets(html, HOME)] == files.split()


def test_the_links_of_a_page_are_those_on_its_server_in_order() -> None:
    found = [url.removeprefix("http://upstage.localhost:8000") for url in links(LINKS, HOME)]
    assert found == ["/b", "/stages/a?x=1&y=2", "/stages/demo?page=2"]
