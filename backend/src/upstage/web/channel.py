"""HTTP/1.1 (RFC 9112) where Twisted is too lenient or too strict; each broken request gets a response."""

import re
from typing import Any

from twisted.internet.interfaces import ITCPTransport
from twisted.web.http import HTTPChannel, Request

from upstage.web.headers import host_name, listed

# Seconds to keep reading after a refusal: closing a connection with unread bytes could destroy the response.
LINGER = 5
_VERSION = re.compile(rb"HTTP/(\d)(\.\d)?")
_ABSOLUTE = re.compile(rb"(https?)://([^/?#]*)(.*)", re.IGNORECASE)  # RFC 9112, 3.2.2


class Refused(Exception):
    """The rest of the connection cannot be understood; `status` is the response."""

    def __init__(self, status: int) -> None:
        self.status = status


class Channel(HTTPChannel):
    """Answers each broken request with an error page of the site, then closes the connection."""

    transport: ITCPTransport
    delimiter = b"\n"  # a CR before it is optional, as in nginx (RFC 9112, 2.2)
    refused = False

    def dataReceived(self, data: bytes) -> None:
        if self.refused:  # later bytes are dropped
            return
        try:
            super().dataReceived(data)
        except Refused as problem:
            self._refuse(problem.status)

    def lineReceived(self, line: bytes) -> None:
        """Take a line of the header; raise Refused for a folded line or a version from 2 on."""
        line = line.removesuffix(b"\r")
        if not self._receivedHeaderSize:
            line = _known_version(line)
        elif line[:1] in (b" ", b"\t"):  # a folded line (RFC 9112, 5.2)
            raise Refused(400)
        super().lineReceived(line)

    def headerReceived(self, line: bytes) -> bool:
        """Take a complete header field; raise Refused for a coding or length that this server does not
        accept.
        """
        name, _, value = line.partition(b":")
        value = value.strip(b" \t")
        if name.lower() == b"transfer-encoding":
            if value.lower() != b"chunked":
                raise Refused(501)
            if self._version != b"HTTP/1.1":  # RFC 9112, 6.1
                raise Refused(400)
        if len(value) > 18 and name.lower() == b"content-length":  # Twisted fails at thousands of digits
            raise Refused(400)
        return bool(super().headerReceived(line))

    def allHeadersReceived(self) -> None:
        """Check Host and target, or raise Refused. The authority of an absolute target replaces the Host (RFC
        9112, 3.2).
        """
        request = self.requests[-1]
        fields = request.requestHeaders
        # Several Host fields make a list, which is not a valid name; HTTP/1.0 needs no Host.
        if not host_name(request) and (fields.hasHeader(b"host") or self._version == b"HTTP/1.1"):
            raise Refused(400)
        if self._command == b"CONNECT":
            raise Refused(501)
        if absolute := _ABSOLUTE.fullmatch(self._path):
            scheme, authority, rest = absolute.groups()
            fields.setRawHeaders(b"host", [authority])
            if not host_name(request):
                raise Refused(400)
            if len(scheme) > 4:  # an https URL does not belong on this connection (RFC 9110, 7.4)
                raise Refused(421)
            self._path = rest if rest[:1] == b"/" else b"/" + rest
        if self._path[:1] != b"/" and (self._command, self._path) != (b"OPTIONS", b"*"):
            raise Refused(400)
        super().allHeadersReceived()

    def checkPersistence(self, request: Request, version: bytes) -> bool:
        """Return whether the connection stays open; Twisted overlooks a `close` that is in a list."""
        if version == b"HTTP/1.1" and "close" not in listed(request, b"connection"):
            return True
        request.responseHeaders.setRawHeaders(b"connection", [b"close"])
        return False

    def lineLengthExceeded(self, line: bytes) -> None:
        """Refuse a line over MAX_LENGTH; called by Twisted."""
        raise Refused(431 if self._receivedHeaderSize else 414)

    def _respondToBadRequestAndDisconnect(self) -> None:
        """Refuse a request in place of Twisted, whose own response has neither a body nor a type."""
        many = self._receivedHeaderCount > self.maxHeaders
        raise Refused(431 if many or self._receivedHeaderSize > self.totalHeadersSize else 400)

    def _refuse(self, status: int) -> None:
        self.refused = True
        if not self.requests:  # the first line of the request was broken
            self.requests.append(self.requestFactory(self, 0))
        self.requests[-1].refuse(status, getattr(self, "_command", b"-"), getattr(self, "_path", b"-"))

    def requestDone(self, request: Any) -> None:
        """Keep the connection open after a response, or close it after a refusal."""
        if not self.refused:
            super().requestDone(request)
            return
        self.requests.clear()
        self._networkProducer.unregisterProducer()  # type: ignore[attr-defined]
        self.transport.loseWriteConnection()
        self.setTimeout(LINGER)


def _known_version(line: bytes) -> bytes:
    """Return the request line with a version that Twisted knows: 1.2 is read as 1.1 (RFC 9110, 2.5)."""
    start, _, version = line.rpartition(b" ")
    if match := _VERSION.fullmatch(version):
        if match[1] > b"1":
            raise Refused(505)
        if version > b"HTTP/1.1":
            return start + b" HTTP/1.1"
    return line
