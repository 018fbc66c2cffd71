"""The files that any user of this process has received in this run, by site and URL."""

from typing import NamedTuple

MOST = 10_000  # files: each spoken line is a new one


class _File(NamedTuple):
    etag: str
    checksum: int
    missed: bool


_files: dict[str, _File] = {}  # in order of their last receipt, the oldest first


def forget() -> None:
    """Forget all files, for the next run."""
    _files.clear()


def is_warm(file: str) -> bool:
    """Return whether caches must have the file: requests sent before its first response may miss."""
    return file in _files


def has_missed(file: str) -> bool:
    """Return whether any response has arrived that no cache had."""
    return file in _files and _files[file].missed


def differs(file: str, etag: str, checksum: int) -> bool:
    """Return whether the file has changed although its validator has not."""
    before = _files.get(file)
    return before is not None and before.etag == etag != "" and before.checksum != checksum


def remember(file: str, etag: str, checksum: int, missed: bool) -> None:
    missed = missed or has_missed(file)
    _files.pop(file, None)
    _files[file] = _File(etag, checksum, missed)
    if len(_files) > MOST:
        del _files[next(iter(_files))]
