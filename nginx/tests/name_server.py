"""A DNS server for one test: answers A queries from a dictionary that the test changes."""

import contextlib
import socket
import struct
import threading


class NameServer:
    """Serves until `close`. `names` holds host names and IPv4 addresses; other names do not exist."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Stop answering."""
        self._socket.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                query, client = self._socket.recvfrom(512)
                self._socket.sendto(self._response(query), client)

    def _response(self, query: bytes) -> bytes:
        """Return the response of RFC 1035: the query's id and question, and an address or "no such name"."""
        end = query.index(b"\0", 12) + 5  # the question: the name's labels, type and class
        labels, position = [], 12
        while size := query[position]:
            labels.append(query[position + 1 : position + 1 + size].decode())
            position += size + 1
        address = self.names.get(".".join(labels))
        flags = 0x8180 if address else 0x8183
        header = query[:2] + struct.pack(">HHHHH", flags, 1, bool(address), 0, 0)
        record = struct.pack(">HHHIH", 0xC00C, 1, 1, 0, 4) + socket.inet_aton(address) if address else b""
        return header + query[12:end] + record
