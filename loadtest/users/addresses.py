"""The addresses of the target, if its name has several: the nodes of a cluster.

Connections begin with each of them in turn, so each node gets as many as the others. Like a browser, a
connection goes to the next address if one does not answer.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from geventhttpclient.client import HTTPClient, HTTPClientPool

# What getaddrinfo returns: family, kind, protocol, name, (address, port, ...).
Address = tuple[Any, Any, Any, Any, tuple[Any, ...]]

# By port: a visit opens the connections to one port always in the same order. Processes begin anywhere.
_turns: defaultdict[int, Iterator[int]] = defaultdict(lambda: count(random.randrange(1 << 16)))


def in_turn(found: Iterable[Address]) -> list[Address]:
    """The same addresses, beginning with the next one of the preferred family; name servers shuffle them."""
    found = list(found)
    first = sorted((one for one in found if one[0] == found[0][0]), key=lambda one: one[4])
    start = next(_turns[first[0][4][1]]) % len(first)
    return [*first[start:], *first[:start], *(one for one in found if one not in first)]


class Clients(HTTPClientPool):
    """The HTTP clients of a user, one for each server that it requests from."""

    def get_client(self, url: Any) -> HTTPClient:
        """The client of a server."""
        known = len(self.clients)
        client = super().get_client(url)
        if len(self.clients) > known:
            pool = client._connection_pool  # it resolves the name for each connection
            resolve = pool._resolve
            pool._resolve = lambda: in_turn(resolve())  # type: ignore[method-assign]
        return client
