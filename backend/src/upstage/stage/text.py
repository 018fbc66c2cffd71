"""Text from clients, made safe for other clients and for the chat log. Pure."""

from unicodedata import category

MAX_NAME = 200  # bytes; an avatar's name must be shorter than this


def one_line(text: str) -> str:
    """Replace line breaks and control characters, which would forge lines in LOAD_CHAT, with spaces."""
    return "".join(" " if category(char) in ("Cc", "Zl", "Zp") else char for char in text)


def escape(text: str) -> str:
    """Escape text for a Flash HTML field as LOAD_CHAT does; `&` stays, as clients expect."""
    return text.replace("<", "&lt;").replace(">", "&gt;")


def avatar_name(text: str) -> str:
    """Return a valid name for an avatar, empty if the text cannot be one.

    `<` and `>`, which would forge lines in the chat log, are removed.
    """
    name = one_line(text).replace("<", "").replace(">", "").strip()
    return name if len(name.encode("utf-8", "replace")) < MAX_NAME else ""
