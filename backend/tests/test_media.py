"""media.files and media.svg: the content decides; damaged, dangerous and misnamed files are rejected."""

import time
import zlib
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest

from upstage.media import files, svg
from upstage.settings import PACKAGE
from upstage.state.records import Medium

NS = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'


def chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4)


IHDR = bytes([0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0])
PNG_FILE = (
    b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", IHDR) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")
)
GIF_FILE = b"GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\1\0\1\0\0\2\2D\1\0;"
JFIF = b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0\xff"  # ends with a fill byte


def jpeg(width: int, height: int) -> bytes:
    size = height.to_bytes(2) + width.to_bytes(2)
    return JFIF + b"\xff\xc0\0\x11\x08" + size + b"x" * 100 + b"\xff\xd9"


def png(width: int, height: int) -> bytes:
    size = width.to_bytes(4) + height.to_bytes(4)
    return PNG_FILE[:8] + chunk(b"IHDR", size + IHDR[8:]) + PNG_FILE[33:]


JPEG_FILE = jpeg(1, 1)
OGG_FILE = b"OggS" + b"\0" * 23 + b"\x1e" + b"\x01vorbis" + b"\0" * 100
SVG_FILE = f"<svg {NS}><path d='M0 0h9'/></svg>".encode()
MP3_FILE = (PACKAGE / "content" / "demo" / "audio" / "curtain-bell.mp3").read_bytes()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".upload-x"


FORMATS = [
    (PNG_FILE, files.PNG),
    (GIF_FILE, files.GIF),
    (JPEG_FILE, files.JPEG),
    (jpeg(5000, 5000), files.JPEG),
    (OGG_FILE, files.OGG),
    (SVG_FILE, files.SVG),
    (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- hi -->\n" + SVG_FILE, files.SVG),
    (MP3_FILE, files.MP3),
    (b"\xff\xfb\x90\x00" + b"\0" * 400, files.MP3),
]


DAMAGED = [
    (b"", "not in a supported format"),
    (b"MZ\x90\x00", "not in a supported format"),
    (b"<html><script>alert(1)</script></html>", "not an SVG"),
    (b"<", "damaged"),
    (PNG_FILE[:-5], "PNG file is damaged"),
    (b"\x89PNG\r\n\x1a\n<script>", "PNG file is damaged"),
    (JPEG_FILE[:-20], "JPEG file is damaged"),
    (GIF_FILE[:-1], "GIF file is damaged"),
    (JFIF + b"x" * 100 + b"\xff\xd9", "JPEG file is damaged"),
    (png(0, 5), "PNG file is damaged"),
    (png(60000, 60000), "60000 x 60000 pixels, more than 25 million"),
    (jpeg(5001, 5000), "5001 x 5000 pixels"),
    (GIF_FILE[:6] + b"\xff\xff" * 2 + GIF_FILE[10:], "65535 x 65535 pixels"),
    (b"OggS" + b"\0" * 100, "OGG file is damaged"),
    (b"ID3 <script>", "MP3 file is damaged"),
    (b"<!DOCTYPE svg PUBLIC 'SVG 1.1' 'http://www.w3.org/svg11.dtd'>" + SVG_FILE, "document type"),
    (b"<!DOCTYPE svg [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]>" + SVG_FILE, "document type"),
    (b"ID3\x04\0\0\0\0\x7f\x7f" + b"\0" * 50, "MP3 file is damaged"),
]


def repeating(reference: str, ids: str = "abcdefghijk") -> str:
    """Return nested elements, each with ten references to the one before: 10^10 drawn elements in 2 kB."""
    return nested(f"<g id='ID'>{reference.format('BEFORE') * 10}</g>", ids)


def nested(element: str, ids: str = "abcdefghijk") -> str:
    """Return a copy of the element for each ID after the first: ID is replaced by its own ID, BEFORE by the
    previous one.
    """
    return f"<g id='{ids[0]}'/>" + "".join(
        element.replace("ID", id).replace("BEFORE", before) for before, id in pairwise(ids)
    )


TEN = 10 * "<rect/>"
LINE = f"<path d='M0{50 * ' 1'}'/>"


ACTIVE = [
    ("<script>alert(1)</script>", "<script>"),
    ("<foreignObject><p/></foreignObject>", "<p>"),
    ("<foreignObject/>", "<foreignObject>"),
    ("<?xml-stylesheet href='//evil.example/x.css'?>", "instructions"),
    ("<style>a{}<g/>@import 'x';</style>", "inside <style>"),
    ("<image href='https://evil.example/x.png'/>", "<image>"),
    ("<a href='#x'><path/></a>", "<a>"),
    ("<set attributeName='x' to='1'/>", "<set>"),
    ("<x:script xmlns:x='http://www.w3.org/2000/svg'>1</x:script>", "<script>"),
    ("<x:script xmlns:x='http://www.w3.org/1999/xhtml'>1</x:script>", "<script>"),
    ("<path onclick='alert(1)'/>", "onclick"),
    ("<path ONLOAD='alert(1)'/>", "onload"),
    ("<use href='other.svg#x'/>", "href"),
    ("<use xlink:href='//evil.example/x#y'/>", "href"),
    ("<use href='data:image/svg+xml,x'/>", "href"),
    ("<path fill='url(https://evil.example/x)'/>", "url"),
    ("<path style='fill: URL( \"//evil.example\" )'/>", "url"),
    ("<path style='fill: url(x'/>", "url"),
    ("<path style='fill: u\\72l(x)'/>", "style"),
    ("<style>@import 'https://evil.example/x.css';</style>", "style"),
    ("<style>path { background: url(//evil.example/x) }</style>", "url"),
    ("<animate attributeName='href' to='x'/>", "animates a reference"),
    ("<animate attributeName='xlink:href' to='#x'/>", "animates a reference"),
    ("<g>" * 200 + "</g>" * 200, "too many elements"),
    ("<g/>" * 30_000, "too many elements"),
    ("<g>", "damaged"),
    (repeating("<use href='#{}'/>"), "repeats its parts"),
    (repeating("<use href='#%3{}'/>", "123456789"), "repeats its parts"),
    (repeating("<rect mask='URL( &quot;#{}&quot;)'/>"), "repeats its parts"),
    ("<path style='fill: VAR(--x)'/>", "style"),
    ("<g style='--m:url(#a)'><g mask='var( --m)'/></g>", "style"),
    ("<style>path { d: path('M0 0') }</style>", "style"),
    ("<animate attributeName='fill' to='url(#a)'/>", "animates a reference"),
    ("<animate attributeName='class' to='x'/>", "animates a reference"),
]


REPEATING = [
    # Every shape inside is painted.
    nested(f"<pattern id='ID'><g fill='url(#BEFORE)'>{TEN}</g></pattern>"),
    nested(f"<pattern id='ID'><g style='stroke : url(#BEFORE)'>{TEN}</g></pattern>"),
    nested(f"<style>.ID {{fill:url(#BEFORE)}}</style><pattern id='ID'><g class='ID'>{TEN}</g></pattern>"),
    nested(f"<g fill='url(#BEFORE)'><pattern id='ID'>{TEN}</pattern></g>"),
    f"<g id='ten'>{TEN}</g>" + nested("<pattern id='ID'><use href='#ten' fill='url(#BEFORE)'/></pattern>"),
    nested("<mask id='ID'><g mask='url(#BEFORE)'>" + 10 * "<g mask='inherit'/>" + "</g></mask>"),
    "<pattern id='a'>" + 400 * "<g/>" + "</pattern><g fill='url(#a)'>" + 400 * "<g/>" + "</g>",
    # A marker has a place at every vertex.
    nested(f"<marker id='ID'><g marker='url(#BEFORE)'>{LINE}</g></marker>", "abcdef"),
    nested(f"<marker id='ID'><g style='marker-mid:url(#BEFORE)'>{LINE}</g></marker>", "abcdef"),
    f"<marker id='a'><g/></marker><path marker-mid='url(#a)' d='M0 0{50_000 * '.5'}'/>",
    f"<marker id='a'><g/></marker><polyline marker-mid='url(#a)' points='{50_000 * '1,'}1'/>",
    f"<g id='line'>{LINE}</g>"
    + nested("<marker id='ID'><use href='#line' style='marker-mid:url(#BEFORE)'/></marker>", "abcdef"),
    "<marker id='m'><path style='fill:context-fill'/></marker>"
    + nested(
        "<pattern id='ID'><path d='M0 0h1h1h1h1h1' fill='url(#BEFORE)' marker-mid='url(#m)'/></pattern>"
    ),
    # Rules that match more than a class.
    "<style>g .x { mask: url(#a) }</style><mask id='a'>"
    + "</mask>".join([400 * "<g class='y x'/>", 400 * "<g class='x'/>"]),
    *(
        f"<style>{rule}</style><mask id='a'>{400 * '<g/>'}</mask>{400 * '<g/>'}"
        for rule in (
            "g:not(.x) { mask: url(#a) }",
            ".x { y { } g, g { mask: url(#a) } }",
            "svg { .x {} mask: url(#a); } g { mask: inherit }",
            "g { content: '} .x {'; mask: url(#a) }",
            "@media all { g { mask: url(#a) } }",
        )
    ),
    # Elements that refer to each other: the browser follows each reference.
    "".join(
        f"<g id='{id}'>" + "".join(f"<use href='#{other}'/>" for other in "abcdefghijk") + "</g>"
        for id in "abcdefghijk"
    ),
    "".join(
        f"<g id='{id}'>" + 10 * f"<use href='#r{before}'/>" + f"<g id='r{id}'><use href='#{id}'/></g></g>"
        for before, id in reversed([*pairwise("abcdefghijk")])
    ),
    # Of several elements with one ID, the first counts.
    nested("<g id='ID'>" + 10 * "<use href='#BEFORE'/>" + "<g id='ID'/></g>"),
]


HARMLESS = [
    """<defs><linearGradient id="a"><stop offset="0" stop-color="#fff"/></linearGradient></defs>
    <style>.x { fill: url(#a) }</style><title>A &amp; B</title>
    <path class="x" style="fill:url('#a')" d="M0 0"/><use xlink:href="#a"/><use href="#a"/>
    <g id="b" style="color: red"><use href="#c"/></g><g id="c"><use href="#b"/></g>
    <metadata><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" rdf:about=""/></metadata>
    <animate attributeName="opacity" from="0" to="1"/>""",
    # A mask belongs to the group, and is not inherited.
    f"<mask id='a'>{400 * '<g/>'}</mask><g style='opacity:1;mask:url(#a)'>{400 * '<g/>'}</g>",
    f"<clipPath id='a'>{400 * '<g/>'}</clipPath><g clip-path='url(#a)'>{400 * '<g/>'}</g>",
    f"<linearGradient id='a'/><g fill='url(#a)' style='stroke:url(#a)'>{9000 * '<g/>'}</g>",
    # A line with a marker at its end only; a marker that takes its paint from the line.
    f"<marker id='a'><g/></marker><path marker-end='url(#a)' d='M0 0{50_000 * ' 1'}'/>",
    f"<style>path {{marker-end:url(#a)}}</style><marker id='a'><path/></marker>{5000 * '<path/>'}",
    "<marker id='a'><path style='fill:context-stroke'/></marker>"
    + 500 * "<path style='marker-start:url(#a);marker-end:url(#a)' d='M0 0h1h2h3'/>",
    f"<g fill='url(#a)'><defs><pattern id='a'><rect fill='red'/></pattern></defs>{5000 * '<g/>'}</g>",
    "<style>.icon--large:hover {--x: red}</style><g class='icon--large' fill='var1'/>",
]


def drawing(inside: str) -> bytes:
    return f"<svg {NS}>{inside}</svg>".encode()


ACCEPTED = [*FORMATS, *((drawing(inside), files.SVG) for inside in HARMLESS)]
REJECTED = [
    *DAMAGED,
    *((drawing(inside), message) for inside, message in ACTIVE),
    *((drawing(inside), "repeats its parts") for inside in REPEATING),
]


@pytest.mark.parametrize(("data", "format"), ACCEPTED, ids=range(len(ACCEPTED)))
def test_the_content_decides_the_format(path: Path, data: bytes, format: files.Format) -> None:
    path.write_bytes(data)
    assert files.format_of(path) is format


@pytest.mark.parametrize(("data", "message"), REJECTED, ids=range(len(REJECTED)))
def test_damaged_unknown_and_dangerous_files_are_rejected(path: Path, data: bytes, message: str) -> None:
    path.write_bytes(data)
    with pytest.raises(files.BadMedia, match=message):
        files.format_of(path)


@pytest.mark.parametrize(
    "inside",
    [
        "<style>.x{" + "fill:url(#a);" * 100_000 + "}</style>" + "<g class='x'/>" * 10_000,
        "<style>" + "".join(f".c{n}," for n in range(100_000)) + "g{fill:url(#a)}</style><g id='a'/>",
        "".join(f"<g id='i{n}' fill='url(#i{n + 1})'><use href='#x'/></g>" for n in range(9000))
        + f"<g id='x'>{1000 * '<g/>'}</g>",
        f"<g fill='{''.join(f'url(#i{n})' for n in range(9000))}'>"
        + "".join(f"<g id='i{n}'/>" for n in range(9000))
        + "</g>",
        f"<marker id='a'/><g marker='url(#a)'><path d='{'1 ' * 900_000}'/></g>",
        "<g style='" + ";" * 900_000 + "'/><g style='" + "--" * 900_000 + "'/>",
        f"<style>{'.x{' * 300_000}</style>",
    ],
)
def test_a_check_takes_no_longer_than_its_file_is_long(path: Path, inside: str) -> None:
    path.write_bytes(drawing(inside))
    began = time.process_time()
    with suppress(files.BadMedia):
        files.format_of(path)
    assert time.process_time() - began < 3


@pytest.mark.parametrize("content", ["<!--" + "x" * 40_000 + "-->", "<path d='" + "M0 " * 10_000 + "'/>"])
def test_a_drawing_is_read_in_large_pieces(path: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    """Expat before 2.6 parses an unfinished comment or attribute again at each piece."""
    monkeypatch.setattr(svg, "PIECE", 10_000)
    pieces: list[bytes] = []
    read = svg._Pieces.read
    monkeypatch.setattr(svg._Pieces, "read", lambda *given: pieces.append(read(*given)) or pieces[-1])
    path.write_bytes(drawing(content))
    assert files.format_of(path) is files.SVG
    assert len(pieces) <= path.stat().st_size / 10_000 + 2


def test_a_drawing_that_takes_too_long_is_rejected(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(SVG_FILE)
    monkeypatch.setattr(svg, "MAX_SECONDS", 0.0)
    with pytest.raises(files.BadMedia, match="too complicated"):
        files.format_of(path)


def test_publishing_gives_a_new_name_with_the_right_suffix(path: Path, tmp_path: Path) -> None:
    path.write_bytes(PNG_FILE)
    path.chmod(0o600)
    medium = files.publish(path, files.check(path, "prop", None), tmp_path, "prop", "Hat", "ann", None)
    assert (medium.kind, medium.name, medium.uploader, medium.size) == ("prop", "Hat", "ann", len(PNG_FILE))
    assert medium.file.endswith(".png")
    assert (tmp_path / medium.file).read_bytes() == PNG_FILE
    assert (tmp_path / medium.file).stat().st_mode & 0o777 == 0o644
    assert not path.exists()
    path.write_bytes(MP3_FILE)
    bell = files.publish(path, files.check(path, "audio", None), tmp_path, "audio", "Bell", "ann", None)
    assert bell.file.startswith("audio/")


def test_a_file_of_the_wrong_kind_is_rejected(path: Path, tmp_path: Path) -> None:
    old = Medium("hat.svg", "prop", "Hat", "ann", "", 1)
    path.write_bytes(PNG_FILE)
    with pytest.raises(files.BadMedia, match="This PNG file is a picture"):
        files.check(path, "audio", None)
    with pytest.raises(files.BadMedia, match=r"ends in \.svg"):
        files.check(path, "prop", old)
    assert [file.name for file in tmp_path.iterdir()] == [".upload-x"]
    files.sweep(tmp_path)
    assert list(tmp_path.iterdir()) == []
