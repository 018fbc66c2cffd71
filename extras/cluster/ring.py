"""The consistent hash by which nginx chooses one of several Varnishes, for a look at its shares.

The same computation as `hash … consistent`: it says without a request which Varnish has a URL, and what
part of all URLs each has. Source: ngx_http_upstream_init_chash and ngx_http_upstream_find_chash_point in
https://github.com/nginx/nginx/blob/master/src/http/modules/ngx_http_upstream_hash_module.c
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from zlib import crc32

POINTS = 160  # of each server on the ring
SPACE = 1 << 32  # a point is a 32-bit number


class Ring:
    """The ring of the servers, each as the configuration writes it: HOST:PORT."""

    def __init__(self, servers: Iterable[str]) -> None:
        points: dict[int, str] = {}
        for server in servers:
            host, _, port = server.rpartition(":")
            base, point = crc32(f"{host}\0{port}".encode()), 0
            for _ in range(POINTS):
                point = crc32(point.to_bytes(4, "little"), base)
                points.setdefault(point, server)
        self._servers = [server for _, server in sorted(points.items())]
        self._points = sorted(points)

    def server(self, key: str) -> str:
        """The server of a key, which is host and path of a URL, such as `localhost/media/fox.svg`."""
        return self._servers[bisect_left(self._points, crc32(key.encode())) % len(self._points)]

    @property
    def shares(self) -> dict[str, float]:
        """The part of all keys, from 0 to 1, of each server."""
        spaces: Counter[str] = Counter()
        before = self._points[-1] - SPACE
        for point, server in zip(self._points, self._servers, strict=True):
            spaces[server] += point - before
            before = point
        return {server: space / SPACE for server, space in spaces.items()}
