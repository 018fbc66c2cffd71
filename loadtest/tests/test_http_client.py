"""The HTTP client of a browser, against an origin: the data that it keeps, counts and unpacks."""

import gzip
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from locust.contrib.fasthttp import FastHttpUser
from locust.env import Environment

from tests.support.origin import Origin, response
from users import http_client

HEAVY = bytes(range(256)) * 5078  # 1.3 MB


@pytest.fixture
def origin() -> Iterator[Origin]:
    """Yield a server that answers as a test says."""
    origin = Origin("files")
    yield origin
    origin.close()


def get(origin: Origin, sent: bytes, path: str = "/file") -> dict[str, Any]:
    """Request a path; return Locust's sample of the response."""
    origin.respond = lambda _: sent
    user = type("Visitor", (FastHttpUser,), {"host": f"http://{origin.address}"})(Environment())
    client = http_client.session(user, patience=10)
    with client.get(path, headers={"Accept-Encoding": "gzip"}, catch_response=True) as got:
        return dict(got.request_meta)


@pytest.mark.parametrize("kind", ["image/png", "audio/mpeg"])
def test_a_heavy_body_is_counted_and_not_kept(origin: Origin, kind: str) -> None:
    meta = get(origin, response(HEAVY, content_type=kind))
    assert not meta["exception"]
    assert meta["response"].length == len(HEAVY)
    assert meta["response"].checksum == zlib.crc32(HEAVY)
    assert meta["response"].content == b""
    assert not meta["response"].read()


@pytest.mark.parametrize("kind", ["text/html", "image/svg+xml"])
def test_a_compressed_body_is_unpacked_and_its_bytes_are_those_sent(origin: Origin, kind: str) -> None:
    packed = gzip.compress(b"<svg/>" * 500)
    meta = get(origin, response(packed, content_type=kind, content_encoding="gzip"))
    assert meta["response"].content == b"<svg/>" * 500
    assert meta["response"].length == len(packed)
    assert meta["response"].checksum == zlib.crc32(b"<svg/>" * 500)


def test_a_304_has_no_body_whatever_encoding_it_names(origin: Origin) -> None:
    sent = response("", "304 Not Modified", content_encoding="gzip", content_type="image/svg+xml")
    meta = get(origin, sent.replace(b"content-length: 0\r\n", b""))
    assert not meta["exception"]
    assert (meta["response"].status_code, meta["response"].length) == (304, 0)


@pytest.mark.parametrize(
    "sent",
    [
        response(b"half" * 4, content_type="image/png", connection="close").replace(b": 16", b": 1600"),
        response(gzip.compress(b"text")[:-3], content_type="text/css", content_encoding="gzip"),
        response(b"no gzip", content_type="image/svg+xml", content_encoding="gzip"),
    ],
    ids=["truncated", "truncated before it was sent", "not compressed"],
)
def test_a_damaged_body_is_an_exception(origin: Origin, sent: bytes) -> None:
    assert get(origin, sent)["exception"]
