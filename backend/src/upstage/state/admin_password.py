"""The administrator's password if no setting has one: generated once, kept in the data folder."""

import os
import secrets
from pathlib import Path

PASSWORD_FILE = "admin-password"


def read_password(data: Path) -> str | None:
    """Return the generated password kept in the data folder, None before the first start."""
    try:
        return (data / PASSWORD_FILE).read_text("utf-8").strip() or None
    except FileNotFoundError:
        return None


def keep_password(data: Path) -> str:
    """Return the kept password; generate and keep one at the first start."""
    password = read_password(data)
    if password is None:
        password = secrets.token_urlsafe(12)
        write_private(data / PASSWORD_FILE, password + "\n")
    return password


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, atomically."""
    temporary = path.with_name(f".{path.name}.new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
