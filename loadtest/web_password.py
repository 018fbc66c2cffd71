"""The account of Locust's web UI, and whether the web UI requires it.

    python web_password.py      prints the name and the password, or nothing if no login is required

A login is required if other machines can reach the web UI, or if `LOCUST_WEB_USERNAME` or
`LOCUST_WEB_PASSWORD` is set. The default name is `locust`; if no password is set, one is generated and kept.
"""

import os
import secrets
from ipaddress import ip_address
from pathlib import Path

# In the container, /var/tmp is a volume.
KEPT_IN = Path("/var/tmp/locust-web-password")  # noqa: S108  # _kept checks whose it is


def is_required(web_host: str) -> bool:
    """Return whether the web UI on `web_host`, or for a container on `BIND_ADDR`, requires a login."""
    chosen = os.environ.get("LOCUST_WEB_USERNAME") or os.environ.get("LOCUST_WEB_PASSWORD")
    return bool(chosen) or not is_loopback(os.environ.get("BIND_ADDR") or web_host)


def is_loopback(address: str) -> bool:
    """Return whether only this machine reaches a listener on `address`; an empty one means all addresses."""
    try:
        return address == "localhost" or ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def account() -> tuple[str, str]:
    name = os.environ.get("LOCUST_WEB_USERNAME") or "locust"
    return name, os.environ.get("LOCUST_WEB_PASSWORD") or _kept()


def _kept() -> str:
    """Return the generated password, made at the first call. Raise RuntimeError if another user owns it."""
    path = Path(os.environ.get("LOCUST_WEB_PASSWORD_FILE") or KEPT_IN)
    try:
        # Every user may write to /var/tmp, so another user could place a known password there.
        with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(12))
    except FileExistsError:
        pass
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW)) as file:
        password = file.read().strip()
        if not password or os.fstat(file.fileno()).st_uid != os.getuid():
            raise RuntimeError(f"{path} is empty or another user's: remove it, or set LOCUST_WEB_PASSWORD")
    return password


if __name__ == "__main__" and is_required(os.environ.get("LOCUST_WEB_HOST", "")):
    print("name: {}    password: {}".format(*account()))
