"""nginx in front of an application of one's own."""

from nginx.tests.nginx_server import NginxServer
from tests.support.origin import Origin

HOST = "app.localhost:8080"


class Site(NginxServer):
    """nginx in front of a relay's socket, behind which is `app`."""

    def __init__(self, **settings: str) -> None:
        site = {"APP": "http://127.0.0.1:5000/", "APP_MAX_UPLOAD": "1m", "APP_NAMES": "shop.example"}
        super().__init__(**{**site, **settings})
        self.app = Origin("app", self.sockets / "app.sock")
        self.origins.append(self.app)
