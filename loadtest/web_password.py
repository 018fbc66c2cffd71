"""The account of Locust's web page, and whether the page asks for it.

    python web_password.py      name and password; nothing if the page asks for none

It asks if `LOCUST_WEB_USERNAME` or `LOCUST_WEB_PASSWORD` is set, and always if other machines can reach it.
Without a name it is `locust`; without a password one is generated and kept.
"""

import os
import secrets
from ipaddress import ip_address
from pathlib import Path

# In the container /var/tmp is a volume.
KEPT_IN = Path("/var/tmp/locust-web-password")


def is_asked(web_host: str) -> bool:
    """Whether the page on `web_host` asks; `BIND_ADDR` says where a container's port is published."""
    chosen = os.environ.get("LOCUST_WEB_USERNAME") or os.environ.get("LOCUST_WEB_PASSWORD")
    return bool(chosen) or not is_loopback(os.environ.get("BIND_ADDR") or web_host)


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches what listens there; no address means all of them."""
    try:
        return address == "localhost" or ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def account() -> tuple[str, str]:
    """Name and password."""
    name = os.environ.get("LOCUST_WEB_USERNAME") or "locust"
    return name, os.environ.get("LOCUST_WEB_PASSWORD") or _kept()


def _kept() -> str:
    """The password that was generated, now or before. RuntimeError if the file cannot be ours."""
    path = Path(os.environ.get("LOCUST_WEB_PASSWORD_FILE") or KEPT_IN)
    try:
        # Anybody may write to /var/tmp: a file of somebody else's would be a password of theirs.
        with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(12))
    except FileExistsError:
        pass
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW)) as file:
        password = file.read().strip()
        if not password or os.fstat(file.fileno()).st_uid != os.getuid():
            raise RuntimeError(f"{path} is empty or somebody else's: remove it, or set LOCUST_WEB_PASSWORD")
    return password


if __name__ == "__main__" and is_asked(os.environ.get("LOCUST_WEB_HOST", "")):
    print("name: {}    password: {}".format(*account()))
