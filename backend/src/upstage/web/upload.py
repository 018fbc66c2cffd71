"""Uploads: a file goes to the disk as it arrives, and is removed if the upload is incomplete."""

import logging
import tempfile
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from upstage.media.files import TEMPORARY
from upstage.web.admin import SiteContext
from upstage.web.forms import FIELD, session_of
from upstage.web.headers import header, same_origin
from upstage.web.request import SiteRequest

PATH = b"/admin/workshop/media"
MAX_FILE = 1_000_000  # bytes of a player's file; this and the next are UpStage's figures
MAX_SU_FILE = 2_000_000  # bytes of an administrator's file
FORM_ROOM = 16 * 1024  # bytes of the form's other fields
MAX_FIELD = 1000  # bytes of another field
MAX_FIELDS = 10
MAX_UPLOADS = 20  # uploads at once

# The response describes the error in a body; the library would also print it on standard error.
logging.getLogger("python_multipart").addHandler(logging.NullHandler())


class Upload:
    """The body of a multipart form: other fields first, then one file."""

    def __init__(
        self,
        boundary: bytes,
        folder: Path,
        limit: int,
        accept: Callable[[str], bool],
        ended: Callable[[], None],
    ) -> None:
        """Accept a file of at most `limit` bytes, if `accept` returns True for the form's token."""
        self.fields: dict[str, str] = {}
        self.status = HTTPStatus.OK  # or the status of the error
        self._limit = limit
        self.room = limit + FORM_ROOM  # bytes of the body that are still accepted
        self._folder = folder
        self._accept = accept
        self._ended = ended
        self._file: BinaryIO | None = None
        self._path = folder / TEMPORARY
        self._size = 0
        self._whole = False
        self._header = b""
        self._value = b""
        self._name: str | None = None
        self._is_file = False
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._part_begins,
                "on_header_field": self._header_name,
                "on_header_value": self._header_value,
                "on_header_end": self._header_ends,
                "on_headers_finished": self._headers_end,
                "on_part_data": self._data,
                "on_part_end": self._part_ends,
                "on_end": self._finished,
            },
        )

    def write(self, data: bytes) -> None:
        """Take a piece of the body, or drop it after an error."""
        self.room -= len(data)
        if self.room < 0:
            self._fail(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        if self.status != HTTPStatus.OK:
            return
        try:
            self._parser.write(data)
        except FormParserError:
            self._fail(HTTPStatus.BAD_REQUEST)
        except OSError:  # the disk is full
            self._fail(HTTPStatus.INSUFFICIENT_STORAGE)

    def take(self) -> Path | None:
        """Return the complete file, which the caller must move or remove; None if it is incomplete."""
        if self.status != HTTPStatus.OK or not self._whole or self._file is None or not self._size:
            return None
        self._file.close()
        self._file = None
        return self._path

    def discard(self) -> None:
        """Remove the file, unless it has been taken."""
        self._fail(self.status)
        self._ended()
        self._ended = lambda: None

    def _fail(self, status: HTTPStatus) -> None:
        self.status = status
        if self._file:
            self._path.unlink(missing_ok=True)
            self._file.close()
            self._file = None

    # The parser calls these methods.

    def _part_begins(self) -> None:
        self._name = None
        self._is_file = False
        self._value = b""

    def _header_name(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end].lower()

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_ends(self) -> None:
        if self._header == b"content-disposition":
            _, options = parse_options_header(self._value)
            self._name = options.get(b"name", b"").decode("utf-8", "replace")
            self._is_file = b"filename" in options
        self._header = self._value = b""

    def _headers_end(self) -> None:
        if self._name is None or self._file or len(self.fields) >= MAX_FIELDS:
            self._fail(HTTPStatus.BAD_REQUEST)
        elif self._is_file:
            if self._accept(self.fields.get(FIELD, "")):
                descriptor, path = tempfile.mkstemp(dir=self._folder, prefix=TEMPORARY)
                self._path, self._file = Path(path), open(descriptor, "wb")  # noqa: SIM115
            else:
                self._fail(HTTPStatus.FORBIDDEN)

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self.status != HTTPStatus.OK:
            return
        if self._is_file and self._file:
            self._size += end - start
            if self._size > self._limit:
                self._fail(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            else:
                self._file.write(data[start:end])
        elif len(self._value) + end - start > MAX_FIELD:
            self._fail(HTTPStatus.BAD_REQUEST)
        else:
            self._value += data[start:end]

    def _part_ends(self) -> None:
        if self._name is not None and not self._is_file:
            self.fields[self._name] = self._value.decode("utf-8", "replace")
        if self._file:
            self._file.flush()

    def _finished(self) -> None:
        self._whole = True


class Uploads:
    """The site's BodyRouter: multipart forms for the media page, only from players who may edit stages."""

    def __init__(self, context: SiteContext) -> None:
        self._context = context
        self._open = 0

    def begin(self, request: SiteRequest, path: bytes, length: int | None) -> Upload | None:
        """Return the receiver of an upload; None, which writes nothing to disk, for any other request."""
        kind, options = parse_options_header(header(request, b"content-type"))
        player = self._context.accounts.player(session_of(request))
        if (
            not path.startswith(PATH)
            or kind != b"multipart/form-data"
            or not player.can_admin
            or not same_origin(request)
            or not 0 < len(options.get(b"boundary", b"")) <= 70
        ):
            return None
        self._open += 1
        upload = Upload(
            options[b"boundary"],
            self._context.media,
            MAX_SU_FILE if player.can_su else MAX_FILE,
            lambda token: self._context.tokens.accept(request, token),
            self._end,
        )
        if self._open > MAX_UPLOADS:
            upload.status = HTTPStatus.SERVICE_UNAVAILABLE
        elif length is not None and length > upload.room:
            upload.status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        return upload

    def _end(self) -> None:
        self._open -= 1
