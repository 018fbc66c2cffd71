"""Not every protocol is HTTP: you time anything you like, and tell Locust with the event `request`.

Look at: the row `ws join`, from opening the WebSocket until the stage has let this client in. A join that
fails is a failed sample, because its exception is reported, too.
"""

import time
from urllib.parse import urlsplit

from locust import User, between, task
from websocket import create_connection


class Joiner(User):
    """Joins the stage as a browser does, stays for a second, and leaves."""

    wait_time = between(1, 3)

    @task
    def join(self) -> None:
        began, error = time.perf_counter(), None
        try:
            socket = create_connection(f"ws://{urlsplit(self.host).netloc}/ws", timeout=10)
            for frame in ("MD5=undefined&mode=IDENT", "stage_ID=load&mode=JOIN", "mode=LOADED"):
                socket.send(frame)
            while "mode=CONFIRM_LOADED" not in str(socket.recv()):
                pass
        except Exception as problem:
            error = problem
        self.environment.events.request.fire(
            request_type="ws",
            name="join",
            response_time=1000 * (time.perf_counter() - began),
            response_length=0,
            exception=error,
            context=self.context(),
        )
        if not error:
            time.sleep(1)
            socket.shutdown()  # close() would wait for an answer
