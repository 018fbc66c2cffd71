"""Locust's HTTP client, set up like a browser's: six connections; heavy bodies are counted, not kept.

A picture may have a megabyte, and hundreds of users load six at a time, perhaps over a slow network. So the
body of a picture or sound is read in pieces, counted, and dropped.
"""

import zlib
from collections.abc import Iterator

from locust.contrib.fasthttp import FastHttpSession, FastHttpUser, FastResponse

CONNECTIONS = 6  # a browser's limit for one server over HTTP/1.1
ENCODING = "gzip"  # the only encoding that the stack uses, and that the client decompresses
CHUNK = 1 << 16  # bytes per read
DROPPED = ("image/", "audio/")
GZIP = 16 + zlib.MAX_WBITS  # gzip, as zlib.decompress names it


class Response(FastResponse):
    """A response whose `content` is empty if it is a picture or a sound that needs no decompression."""

    fields: dict[str, str]  # the header fields, with names in lower case
    length: int  # bytes of the body, as they were sent
    checksum: int  # CRC-32 of the decompressed body

    def _content(self) -> bytes:
        """Read the body, once; Locust measures until then. An incomplete or damaged body raises an error."""
        headers = self.info()
        self.fields = {name.lower(): ", ".join(headers.getlist(name)) for name in headers}
        self.length = self.checksum = 0
        packed = self.fields.get("content-encoding") == ENCODING
        if self.fields.get("content-type", "").startswith(DROPPED) and not packed:
            for piece in self._pieces():
                self.checksum = zlib.crc32(piece, self.checksum)
            return b""
        body = b"".join(self._pieces())
        if packed and body:  # a 304 may name the encoding of the copy that it confirms, but has no body
            body = zlib.decompress(body, GZIP)
        self.checksum = zlib.crc32(body)
        return body

    def _pieces(self) -> Iterator[bytes]:
        while piece := self.read(CHUNK):
            self.length += len(piece)
            yield piece


def session(user: FastHttpUser, patience: float) -> FastHttpSession:
    """Return a client for one user, which gives up a request after `patience` seconds without a byte."""
    client = FastHttpSession(
        base_url=user.host,
        request_event=user.environment.events.request,
        user=user,
        concurrency=CONNECTIONS,
        connection_timeout=10.0,
        network_timeout=patience,
        # A redirect is a response to check; the redirect after signing in need not be followed.
        max_redirects=0,
        max_retries=0,
        headers={"User-Agent": "Proscenium-Audience (Locust)"},
    )
    # checks.py judges the status. To report a wrong status, the client would first decode the body as UTF-8,
    # which raises an error if the body of a 404 is a picture.
    client.client.valid_response_codes = frozenset(range(1000))  # type: ignore[misc]
    client.client.redirect_response_codes = frozenset()  # type: ignore[misc]
    client.client.response_type = Response  # type: ignore[misc]
    return client
