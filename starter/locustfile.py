"""The visitors of a load test: https://docs.locust.io/en/stable/writing-a-locustfile.html"""

import os

from locust import HttpUser, between, task


class Visitor(HttpUser):
    wait_time = between(1, 3)

    def on_start(self) -> None:
        self.client.headers["Host"] = os.environ["PUBLIC_NAME"]  # the name that the application knows

    @task
    def home(self) -> None:
        # Do not follow a redirect: it may name the public host, which may be another machine.
        self.client.get("/", allow_redirects=False)
