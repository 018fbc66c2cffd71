"""A simulated webcam program: signs in over FTP and uploads a picture twice a second."""

import ftplib
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from upstage.camera.picture import picture

EVERY = 0.5  # seconds from one picture to the next: the server accepts none sooner
TIMEOUT = 10.0  # seconds for each reply of the server
# Seconds until the next attempt. After a rejected password, the pause is long enough not to be locked out.
RETRY, RETRY_REJECTED = 1.0, 10.0


def upload(server: str, account: Path, stamp: Path) -> Iterator[None]:
    """Sign in and upload pictures, one for each item yielded; touch `stamp` after each. Raise OSError,
    EOFError or ftplib.Error.
    """
    host, _, port = server.rpartition(":")
    name, _, password = account.read_text("utf-8").strip().partition(":")
    with ftplib.FTP(timeout=TIMEOUT) as client:  # noqa: S321  # the protocol of webcams in 2011
        client.connect(host, int(port))
        client.login(name, password)
        while True:
            client.storbinary(f"STOR {name}.jpg", BytesIO(picture(datetime.now(UTC))))
            stamp.touch()
            yield


def run(server: str, account: Path, stamp: Path) -> None:
    """Upload forever. Log each change: that pictures arrive again, or the reason why they do not."""
    said = ""
    stamp.unlink(missing_ok=True)  # left by an earlier run

    def say(line: str) -> None:
        nonlocal said
        if line != said:
            print(said := line, flush=True)

    while True:
        try:
            for _ in upload(server, account, stamp):
                say(f"pictures are uploaded to {server}")
                time.sleep(EVERY)
        except ftplib.all_errors as error:  # OSError and EOFError are among them
            say(f"no picture was uploaded: {error or 'the connection was closed'}")
            time.sleep(RETRY_REJECTED if isinstance(error, ftplib.error_perm) else RETRY)
