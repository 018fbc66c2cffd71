"""Checks Varnish's storage: standard input is the JSON of `docker compose config`; exit 1 if it cannot be.

compose.yaml has the sum: malloc storage takes twice its size if all objects are small, a file in /tmp is in
memory, and Varnish itself takes 256 MB.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

MB = 1 << 20
ITSELF = 256 * MB
UNITS = {"k": 1 << 10, "m": MB, "g": 1 << 30, "t": 1 << 40}
OURS = {"/var/lib/varnish", "/run/proscenium/varnish"}  # in memory, and for other things


def size_of(text: str) -> int:
    """Return the bytes of a size such as 128m."""
    unit = UNITS.get(text[-1].lower(), 1)
    return int(text[: -1 if unit > 1 else None]) * unit


def has_a_disk(varnish: Mapping[str, Any], folder: PurePosixPath) -> bool:
    """Return whether the user has mounted something writable there."""
    mounts = [mount for mount in varnish.get("volumes", []) if not mount.get("read_only")]
    return any(mount["target"] not in OURS and folder.is_relative_to(mount["target"]) for mount in mounts)


def mistake(varnish: Mapping[str, Any]) -> str:
    """Return what is wrong with the storage of a service, or an empty text."""
    storage = varnish["environment"]["VARNISH_STORAGE"]
    kind, *path, size = storage.split(",")
    needed = size_of(size) + ITSELF
    if kind == "malloc":
        needed += size_of(size)
    else:
        folder = PurePosixPath(*path).parent
        if has_a_disk(varnish, folder):
            return ""
        if not folder.is_relative_to("/tmp"):  # noqa: S108  a path in the container
            where = "below /tmp only, or where compose.override.yaml mounts a volume"
            return f"VARNISH_STORAGE={storage}: Varnish may write {where}"
    if needed <= int(varnish["mem_limit"]):
        return ""
    instead = f"set VARNISH_MEMORY={needed // MB}m, or a smaller storage"
    return f"VARNISH_STORAGE={storage} needs more than Varnish's container may have: {instead}"


if __name__ == "__main__":
    if found := mistake(json.load(sys.stdin)["services"]["varnish"]):
        sys.exit(found)
