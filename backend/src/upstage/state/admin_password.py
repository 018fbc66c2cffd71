"""The administrator's password if no setting gives one: generated once, kept in the data folder."""

import secrets
from pathlib import Path

from upstage.state.files import write_private

PASSWORD_FILE = "admin-password"  # noqa: S105  # a file's name


def read_password(data: Path) -> str | None:
    """Return the generated password kept in the data folder; None before the first start."""
    try:
        return (data / PASSWORD_FILE).read_text("utf-8").strip() or None
    except FileNotFoundError:
        return None


def keep_password(data: Path) -> str:
    """Return the kept password; at the first start, generate and keep one."""
    password = read_password(data)
    if password is None:
        password = secrets.token_urlsafe(12)
        write_private(data / PASSWORD_FILE, password + "\n")
    return password
