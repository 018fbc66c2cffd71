"""The audience of today, whose browser opens a WebSocket."""

from urllib.parse import urlsplit

from visitors.audience import Audience
from visitors.line import SocketLine, WebLine


class WebAudience(Audience):
    """As Audience, over `/ws`."""

    weight = 5
    row_type = "ws"

    def dial(self) -> SocketLine:
        """Open the WebSocket, on the port that serves the pages."""
        target = urlsplit(self.host or "")
        return WebLine(target.hostname or "", target.port or 80, self.options.topology)
