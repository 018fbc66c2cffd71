"""Players who edit stages and media, through the forms of the workshop."""

import io
import re

import requests

from stack import Stack

PASSWORD = "a horse, a horse"


class Editor:
    """A signed-in player who sends forms as a browser does."""

    def __init__(self, stack: Stack, name: str) -> None:
        self.session = requests.Session()
        self.stack = stack
        self.post("/admin/", "/admin/login", username=name, password=PASSWORD)
        assert "Sign out" in self.session.get(stack.url("/admin/")).text

    def post(self, page: str, target: str, picture: bytes | None = None, **fields: str) -> requests.Response:
        """Open a page, take its form's token and send the form; a picture goes into the field `file`."""
        token = re.search(r'name="csrf" value="([^"]+)"', self.session.get(self.stack.url(page)).text)
        assert token, page
        files = {"file": ("picture.svg", io.BytesIO(picture), "image/svg+xml")} if picture else None
        return self.session.post(
            self.stack.url(target),
            data={"csrf": token[1], **fields},
            files=files,
            headers={"Origin": self.stack.url("").rstrip("/")},
            timeout=20,
        )
