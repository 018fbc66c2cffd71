"""The workshop's forms, sent as a browser sends them."""

import io
import re
from typing import Protocol

import requests

PASSWORD = "a horse, a horse"
MEDIA = "/admin/workshop/media"
PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9" fill="{}"/></svg>'
)


class Site(Protocol):
    """A running stack."""

    def url(self, path: str) -> str:
        """The URL of a path."""


class Editor:
    """A signed-in player who sends forms as a browser does."""

    def __init__(self, site: Site, name: str) -> None:
        self.session = requests.Session()
        self.site = site
        self.post("/admin/", "/admin/login", username=name, password=PASSWORD)
        assert "Sign out" in self.session.get(site.url("/admin/")).text

    def post(self, page: str, target: str, picture: bytes | None = None, **fields: str) -> requests.Response:
        """Open a page, take its form's token and send the form; a picture goes into the field `file`."""
        token = re.search(r'name="csrf" value="([^"]+)"', self.session.get(self.site.url(page)).text)
        assert token, page
        files = {"file": ("picture.svg", io.BytesIO(picture), "image/svg+xml")} if picture else None
        return self.session.post(
            self.site.url(target),
            data={"csrf": token[1], **fields},
            files=files,
            headers={"Origin": self.site.url("").rstrip("/")},
            timeout=20,
        )
