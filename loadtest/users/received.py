"""The files that any user of this process has received in this run."""

MOST = 10_000  # URLs: each spoken line has a new one

# URL -> validator and CRC-32 of the file; the one received longest ago first.
_files: dict[str, tuple[str, int]] = {}


def forget() -> None:
    """Start again, for the next run: its target may be another one, or its caches empty."""
    _files.clear()


def is_warm(url: str) -> bool:
    """Whether caches must have it: the first request may miss, and so may those under way at that moment."""
    return url in _files


def differs(url: str, etag: str, checksum: int) -> bool:
    """Whether the file is another one than before, although it has the same validator."""
    before = _files.get(url)
    return before is not None and before[0] == etag != "" and before[1] != checksum


def remember(url: str, etag: str, checksum: int) -> None:
    """Note a received file."""
    _files.pop(url, None)
    _files[url] = etag, checksum
    if len(_files) > MOST:
        del _files[next(iter(_files))]
