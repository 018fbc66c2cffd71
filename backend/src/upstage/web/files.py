"""Static files with validators, Range, HEAD and 304, for caches and media players."""

import re
import stat
from collections.abc import Sequence
from pathlib import Path

from twisted.web.server import NOT_DONE_YET, Request
from twisted.web.static import NoRangeStaticProducer, SingleRangeStaticProducer

from upstage.net.purge import ALL_MEDIA, tag_of
from upstage.web.conditions import Validators, precondition, span
from upstage.web.headers import header
from upstage.web.nodes import Node
from upstage.web.templates import Pages

# The system's table is not used: containers often have none, and the types must not depend on the machine.
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".gif": "image/gif",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".mp3": "audio/mpeg",
    ".ogg": "audio/ogg",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".swf": "application/x-shockwave-flash",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
    ".xml": "application/xml",
}
REVALIDATE = b"public, no-cache"  # browsers revalidate each time; Varnish has its own rule for media
FOR_EVER = b"public, max-age=31536000, immutable"
# Players upload media: a picture opened as a separate page must neither run nor load anything.
MEDIA_CSP = b"default-src 'none'; style-src 'unsafe-inline'; sandbox"

# A path segment that may be served; with no dot at its beginning, it is neither `..` nor a hidden file.
SEGMENT = re.compile(rb"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")
# A proxy that has the media folder sends larger files itself. Smaller files fit into Varnish's cache in
# memory (varnish/microcache.vcl) and into the buffers of one connection (nginx/sites/default.conf.template).
LARGE = 81_920  # bytes
_LOCATION = re.compile(r"(/[A-Za-z0-9._-]+)+")


class MediaFolder(Node):
    """`/media`: pictures and sounds. The header X-Accel-Media gives the folder's location in the proxy."""

    isLeaf = True

    def __init__(self, pages: Pages, root: Path, folder: bytes = b"") -> None:
        """`folder` is the path of `root` below the media folder, with a slash at its end; empty for the media
        folder itself.
        """
        super().__init__(pages)
        self._root = root
        self._folder = folder

    def render_GET(self, request: Request) -> bytes | int:
        request.setHeader(b"content-security-policy", MEDIA_CSP)
        request.setHeader(b"cache-control", REVALIDATE)
        path = request.postpath or []
        if path[:1] == [b"thumb"]:  # because pictures are small, each is its own thumbnail
            path = path[1:]
        file = (self._folder + b"/".join(path)).decode("latin-1")
        tags = f"{ALL_MEDIA} {tag_of(file)}"
        request.setHeader(b"x-cache-tags", tags.encode())  # for the cache in front, which removes the header
        redirect = None
        if request.requestHeaders.hasHeader(b"x-accel-media"):
            location = header(request, b"x-accel-media")
            redirect = f"{location}/{file}" if _LOCATION.fullmatch(location) else ""
        return serve(request, self.pages, self._root, path, redirect)


class AssetFolder(Node):
    """`/style`, `/script`, `/image`: page assets, with or without the version in the path.

    With the current version, assets never change; with another version, they do not exist, so that a page
    never loads scripts of a different release.
    """

    isLeaf = True

    def __init__(self, pages: Pages, root: Path, version: str) -> None:
        super().__init__(pages)
        self._root = root
        self._version = version.encode()

    def render_GET(self, request: Request) -> bytes | int:
        first, *rest = path = request.postpath or [b""]
        versioned = first == self._version
        request.setHeader(b"cache-control", FOR_EVER if versioned else REVALIDATE)
        return serve(request, self.pages, self._root, rest if versioned else path)


def serve(
    request: Request, pages: Pages, root: Path, segments: Sequence[bytes] | None, redirect: str | None = None
) -> bytes | int:
    """Serve the file `root/segments...`: 200, 206, 304, 404, 412 or 416.

    `redirect` is the location of the file in the proxy in front: empty if the proxy has none, None if the
    request does not say (no X-Accel-Media). Given a location, the proxy sends a large file:
    https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_ignore_headers
    """
    if not segments or not all(map(SEGMENT.fullmatch, segments)):
        return pages.error(request, 404)
    path = root.joinpath(*(segment.decode("ascii") for segment in segments))
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode):  # checked before opening, which would block on a FIFO
            return pages.error(request, 404)
        file = path.open("rb")
    except OSError:
        return pages.error(request, 404)
    validators = Validators(int(info.st_mtime), info.st_size)
    large = redirect is not None and info.st_size > LARGE
    if large:
        request.setHeader(b"vary", b"X-Accel-Media")
    status = precondition(request, validators)
    page = pages.error(request, status) if status == 412 else b""
    request.setHeader(b"etag", validators.tag.encode())
    request.setHeader(b"last-modified", validators.date.encode())
    if status != 200:
        file.close()
        request.setResponseCode(status)
        return page
    request.setHeader(b"content-type", TYPES.get(path.suffix, "application/octet-stream").encode())
    if redirect and large:
        file.close()
        request.setHeader(b"x-accel-redirect", redirect.encode())
        return b""  # without Accept-Ranges, because the proxy adds its own
    request.setHeader(b"accept-ranges", b"bytes")
    part = span(request, validators)
    if part is not None and not part:
        file.close()
        request.setResponseCode(416)
        request.setHeader(b"content-range", f"bytes */{info.st_size}".encode())
        return b""
    if part is not None:
        request.setResponseCode(206)
        request.setHeader(b"content-range", f"bytes {part[0]}-{part[-1]}/{info.st_size}".encode())
    size = info.st_size if part is None else len(part)
    request.setHeader(b"content-length", str(size).encode())
    if request.method == b"HEAD":
        file.close()
        return b""
    # Both producers read the next piece when the client has read the last one, and finally close the file.
    if part is None:
        NoRangeStaticProducer(request, file).start()
    else:
        SingleRangeStaticProducer(request, file, part[0], size).start()
    return NOT_DONE_YET
