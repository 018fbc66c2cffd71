"""Clients of the stage for the tests: the raw socket on 7230 and the WebSocket on /ws."""

import socket
from urllib.parse import parse_qsl, urlencode

import websocket

from house import House


class RawStage:
    """A NUL-framed client such as Flash was."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.buffer = b""

    def send(self, mode: str, **fields: str) -> None:
        """One frame, `mode` last as Flash put it."""
        self.socket.sendall(urlencode({**fields, "mode": mode}).encode() + b"\0")

    def receive(self) -> dict[str, str]:
        """The next frame; OSError after 30 seconds of silence."""
        while b"\0" not in self.buffer:
            data = self.socket.recv(65536)
            assert data, "the server closed the connection"
            self.buffer += data
        frame, self.buffer = self.buffer.split(b"\0", 1)
        return dict(parse_qsl(frame.decode(), keep_blank_values=True))

    def until(self, mode: str) -> list[dict[str, str]]:
        """All frames up to the next one of that mode, which is the last."""
        frames = [self.receive()]
        while frames[-1]["mode"] != mode:
            frames.append(self.receive())
        return frames

    def close(self) -> None:
        self.socket.close()


class WebStage(RawStage):
    """The same over the WebSocket: one text message a frame, without the NUL."""

    def __init__(self, port: int, host: str = "localhost") -> None:
        self.web = websocket.create_connection(
            f"ws://127.0.0.1:{port}/ws",
            timeout=30,
            host=f"{host}:{port}",
            origin=f"http://{host}:{port}",
        )

    def send(self, mode: str, **fields: str) -> None:
        self.web.send(urlencode({**fields, "mode": mode}))

    def receive(self) -> dict[str, str]:
        return dict(parse_qsl(str(self.web.recv()), keep_blank_values=True))

    def close(self) -> None:
        self.web.close()


def enter(line: RawStage, key: str = "undefined", stage: str = "demo") -> list[dict[str, str]]:
    """Take a seat, as audience unless the key is a player's; the frames from SET to CONFIRM_LOADED."""
    frames = line.until("SET")
    line.send("IDENT", MD5=key)
    line.send("JOIN", stage_ID=stage)
    frames += line.until("JOINED")
    line.send("LOADED")
    return frames + line.until("CONFIRM_LOADED")


def player_key(house: House, name: str, password: str) -> str:
    """Sign in; what the socket is to be told, as /admin/id says it."""
    login = house.get("/admin/login", method="POST", data={"username": name, "password": password})
    session = {"Cookie": login.headers["Set-Cookie"].split(";")[0]}
    return dict(parse_qsl(house.get("/admin/id", headers=session).text))["key"]
