"""Uploads over a real socket: limits, rejected files, and no left-over files."""

import socket
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from many_examples import EXAMPLES, holds
from running_backend import DRAWING, FORM, MULTIPART, Backend, Editor, ask, multipart
from upstage.web.upload import Upload

MEDIA = "/admin/workshop/media"


@pytest.fixture
def backend(workshop: Backend) -> Backend:
    return workshop


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"x" * 21


def padded(size: int) -> bytes:
    return PNG + b"x" * (size - len(PNG) - 8) + b"IEND\xaeB`\x82"


def test_the_size_limit_depends_on_the_role(backend: Backend, editor: Editor, admin: Editor) -> None:
    editor.bring("Just", "backdrop", padded(1_000_000))
    admin.bring("Big", "backdrop", padded(2_000_000))
    for who, size in ((editor, 1_000_001), (admin, 2_000_001), (editor, 5_000_000)):
        answer = who.upload(MEDIA, padded(size), name="Too big", kind="backdrop")
        assert answer.status == 413
        assert b"The file is too large" in answer.body
    assert not list(backend.media.glob(".upload-*"))


@pytest.mark.parametrize(
    ("data", "fields", "status", "message"),
    [
        (b"MZ\x90", {}, 415, b"not in a supported format"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>", {}, 415, b"&lt;script&gt;"),
        (b"", {}, 400, b"Choose a file first"),
        (DRAWING, {"kind": "audio"}, 415, b"SVG file is a picture"),
        (DRAWING, {"kind": "spaceship"}, 400, b"The kind of a file must be one of"),
        (DRAWING, {"name": " "}, 400, b"The name of a file must have"),
        (DRAWING, {"name": "x" * 2000}, 400, b"form is not valid"),
    ],
)
def test_a_rejected_upload_says_why_and_leaves_nothing(
    backend: Backend, editor: Editor, data: bytes, fields: dict[str, str], status: int, message: bytes
) -> None:
    before = sorted(backend.media.rglob("*"))
    answer = editor.upload(MEDIA, data, **{"name": "X", "kind": "prop", **fields})
    assert answer.status == status
    assert message in answer.body
    assert sorted(backend.media.rglob("*")) == before


def test_a_form_that_no_page_of_this_site_sends_is_too_large(backend: Backend) -> None:
    fields = b"&".join(b"a%d=1" % number for number in range(5000))
    answer = ask(backend, "/admin/login", "POST", fields, **FORM)
    assert (answer.status, b"Any other form may have 20 fields" in answer.body) == (413, True)
    answer = ask(backend, MEDIA, "POST", b"x" * 100_000, Content_Type=MULTIPART)  # without a session
    assert (answer.status, b"2 MB, after signing in" in answer.body) == (413, True)


def test_an_incomplete_upload_leaves_nothing(backend: Backend, editor: Editor) -> None:
    whole = multipart({"csrf": editor.csrf, "name": "X", "kind": "prop"}, b"x" * 500_000)
    head = (
        f"POST {MEDIA} HTTP/1.1\r\nHost: localhost\r\nCookie: {editor.cookie}\r\n"
        f"Content-Type: {MULTIPART}\r\nContent-Length: {len(whole)}\r\n\r\n"
    ).encode()
    with socket.create_connection(("127.0.0.1", backend.web_port), 5) as connection:
        connection.sendall(head + whole[:300_000])
        on_disk = lambda: sum(path.stat().st_size for path in backend.media.glob(".upload-*"))  # noqa: E731
        backend.wait_for(lambda: on_disk() > 200_000)
    backend.wait_for(lambda: not list(backend.media.glob(".upload-*")))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"--the-seam--\r\n",
        b"no multipart at all",
        b"--the-seam\r\n\r\nno header\r\n--the-seam--\r\n",
        b"--the-seam\r\n" + b"X: " + b"y" * 20_000,
        b"--the-seam\r\nContent-Disposition: form-data\r\n\r\nx\r\n--the-seam--\r\n",
        multipart({f"f{n}": "x" for n in range(50)}, DRAWING),
        multipart({}, DRAWING)[:-20],
    ],
)
def test_invalid_bodies_are_rejected(backend: Backend, editor: Editor, body: bytes) -> None:
    answer = ask(backend, MEDIA, "POST", body, Cookie=editor.cookie, Content_Type=MULTIPART)
    assert answer.status in (400, 403)
    assert not list(backend.media.glob(".upload-*"))


def test_uploads_without_the_right_write_nothing(backend: Backend, admin: Editor) -> None:
    before = sorted(backend.media.rglob("*"))
    body = multipart({"csrf": admin.csrf}, padded(500_000))
    evil = {"Cookie": admin.cookie, "Origin": "http://evil.example"}
    for headers in ({}, {"Cookie": "upstage_session=x"}, evil):
        assert ask(backend, MEDIA, "POST", body, Content_Type=MULTIPART, **headers).status in (403, 413)
    assert sorted(backend.media.rglob("*")) == before


PIECES = st.sampled_from(
    [
        *(b"--the-seam", b"--", b"\r\n", b"\r\n\r\n", b"Content-Disposition: form-data"),
        *(b"; name=csrf", b"; filename=x", b"x"),
    ]
)


@EXAMPLES
def test_any_bytes_in_any_pieces_do_no_harm(examples: int) -> None:
    @given(st.lists(PIECES | st.binary(max_size=20), max_size=60), st.integers(0, 200))
    def prove(pieces: list[bytes], limit: int) -> None:
        ended: list[bool] = []
        with tempfile.TemporaryDirectory() as folder:
            upload = Upload(b"the-seam", Path(folder), limit, lambda token: True, lambda: ended.append(True))
            for piece in pieces:
                upload.write(piece)
                assert sum(path.stat().st_size for path in Path(folder).iterdir()) <= limit
            if path := upload.take():
                assert 0 < path.stat().st_size <= limit
                path.unlink()
            upload.discard()
            upload.discard()
            assert list(Path(folder).iterdir()) == []
        assert ended == [True]

    holds(prove, examples)


def test_a_file_cut_anywhere_arrives_whole(tmp_path: Path) -> None:
    body = multipart({"csrf": "t", "name": "Hat"}, b"\r\n--the-sea\r\n" * 20)
    for size in (1, 2, 3, 7, 50, len(body)):
        upload = Upload(b"the-seam", tmp_path, 1000, lambda token: token == "t", lambda: None)
        for start in range(0, len(body), size):
            upload.write(body[start : start + size])
        path = upload.take()
        assert path is not None
        assert path.read_bytes() == b"\r\n--the-sea\r\n" * 20
        assert upload.fields == {"csrf": "t", "name": "Hat"}
