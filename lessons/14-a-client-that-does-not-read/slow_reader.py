"""Two clients on the stage `rehearsal`: one talks and reads, the other joins and never reads.

Prints how much the stage has sent to each, until it disconnects the second client; gives up after a minute.
"""

import re
import socket
import sys
import time

LINE = b"msg=" + b"<" * 600 + b"&mode=TEXT\0"  # to each client 4.8 kB, because "<" is sent as %26lt%3B
LINES = 20  # a second: 100 kB/s, as much as eighty players who draw at once
MINUTE = 60


def join(receive_buffer: int = 0) -> socket.socket:
    """A new client of the stage. `receive_buffer`: bytes that its own kernel keeps; 0 for the default."""
    client = socket.socket()
    if receive_buffer:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    client.connect(("nginx", 7230))
    client.sendall(b"stage_ID=rehearsal&mode=JOIN\0")
    return client


def arrived(client: socket.socket) -> bytes:
    """Return what has arrived for a client, without waiting for more."""
    data = b""
    try:
        while chunk := client.recv(1 << 20, socket.MSG_DONTWAIT):
            data += chunk
    except BlockingIOError:
        return data
    sys.exit("The stage has closed the connection of the client that reads: is the stack as it was?")


def audience(data: bytes) -> int:
    """The last number of clients that the stage has sent; 0 if it has sent none."""
    return int((re.findall(rb"aCount=(\d+)&mode=JOINED", data) or [0])[-1])


def main() -> None:
    """Run until the stage has disconnected the second client."""
    talker = join()
    slow = join(receive_buffer=2048)
    time.sleep(1)
    both = audience(arrived(talker))
    began, sent = time.monotonic(), 0
    for number in range(MINUTE * LINES):
        talker.sendall(LINE)
        time.sleep(max(0, began + (number + 1) / LINES - time.monotonic()))
        data = arrived(talker)
        sent += len(data)
        seconds = time.monotonic() - began
        if 0 < audience(data) < both:
            print(f"{seconds:4.0f} s  {sent / 1000:6.0f} kB: the stage has disconnected the other client.")
            break
        if (number + 1) % LINES == 0:
            print(f"{seconds:4.0f} s  {sent / 1000:6.0f} kB", flush=True)
    else:
        print("After a minute the client that does not read is still connected.")
    slow.close()
    talker.close()


if __name__ == "__main__":
    main()
