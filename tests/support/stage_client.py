"""Clients of the stage: the stage socket (NUL-framed, as Flash spoke it) and the WebSocket at /ws."""

from urllib.parse import parse_qsl, urlencode

import websocket

from tests.support.http import Address, connect


class StageClient:
    """A client of the stage socket.

    A frame is URL-encoded fields, `mode` last. The methods named `…frame…` take and return such bytes without
    their NUL; the others take and return the fields. They raise EOFError if the server has closed the
    connection.
    """

    def __init__(self, address: Address, timeout: float = 60) -> None:
        self.socket = connect(address, timeout)
        self._received = b""

    def send_frames(self, *frames: bytes) -> None:
        """Send frames in one piece."""
        self.socket.sendall(b"".join(frame + b"\0" for frame in frames))

    def receive_frame(self) -> bytes:
        """Return the next frame. Raise TimeoutError after `timeout` seconds of silence."""
        while b"\0" not in self._received:
            data = self.socket.recv(65536)
            if not data:
                raise EOFError("the server closed the connection")
            self._received += data
        frame, self._received = self._received.split(b"\0", 1)
        return frame

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()

    def send(self, mode: str, **fields: str) -> None:
        """Send one frame."""
        self.send_frames(urlencode({**fields, "mode": mode}).encode())

    def receive(self) -> dict[str, str]:
        """Return the fields of the next frame."""
        return dict(parse_qsl(self.receive_frame().decode(), keep_blank_values=True))

    def until(self, mode: str) -> list[dict[str, str]]:
        """Return all frames up to the next one of that mode, which is the last."""
        frames = [self.receive()]
        while frames[-1]["mode"] != mode:
            frames.append(self.receive())
        return frames

    def frames_until(self, ending: bytes) -> list[bytes]:
        """Return all frames up to the first one that ends like this."""
        frames = [self.receive_frame()]
        while not frames[-1].endswith(ending):
            frames.append(self.receive_frame())
        return frames

    def join(self, key: str = "undefined", stage: str = "demo") -> list[dict[str, str]]:
        """Join a stage, as audience or with a player's key; return the frames up to CONFIRM_LOADED."""
        frames = self.until("SET")
        self.send("IDENT", MD5=key)
        self.send("JOIN", stage_ID=stage)
        frames += self.until("JOINED")
        self.send("LOADED")
        return frames + self.until("CONFIRM_LOADED")


class WebStageClient(StageClient):
    """A StageClient over the WebSocket: a text message is a frame without its NUL."""

    def __init__(self, port: int, host: str = "localhost", timeout: float = 60) -> None:
        self.websocket = websocket.create_connection(
            f"ws://127.0.0.1:{port}/ws",
            timeout=timeout,
            host=f"{host}:{port}",
            origin=f"http://{host}:{port}",
        )

    def send_frames(self, *frames: bytes) -> None:
        """Send each frame as a text message."""
        for frame in frames:
            self.websocket.send(frame.decode())

    def receive_frame(self) -> bytes:
        """Return the next text message."""
        message = self.websocket.recv()
        if not message:
            raise EOFError("the server closed the connection")
        return str(message).encode()

    def close(self) -> None:
        """Close the connection."""
        self.websocket.close()
