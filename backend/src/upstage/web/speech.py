"""`/speech`: spoken lines. Requests wait until the file exists."""

import re

from upstage.media.speech import Speaker
from upstage.web.files import FOR_EVER, MEDIA_CSP, serve
from upstage.web.nodes import Node, held
from upstage.web.request import SiteRequest
from upstage.web.templates import Pages

MAX_WAITING = 5000  # requests: without a cache in front, each client sends its own

_NAME = re.compile(rb"utter-([1-9]\d{0,14})\.mp3")


class SpeechFolder(Node):
    """`/speech/utter-N.mp3`: 200 when the file exists, 404 if it never will, 503 if too many wait."""

    isLeaf = True

    def __init__(self, pages: Pages, speaker: Speaker) -> None:
        super().__init__(pages)
        self._speaker = speaker

    async def render_GET(self, request: SiteRequest) -> bytes | int:
        match = _NAME.fullmatch(b"/".join(request.postpath or []))
        if match is None:
            return self.pages.error(request, 404)
        if self._speaker.waiting >= MAX_WAITING:
            request.setHeader(b"retry-after", b"2")
            return self.pages.error(request, 503)
        path = await held(request, self._speaker.file(int(match[1])))
        request.setHeader(b"content-security-policy", MEDIA_CSP)
        request.setHeader(b"cache-control", FOR_EVER)  # a number is never used twice
        return serve(request, self.pages, path.parent, [path.name.encode()])
