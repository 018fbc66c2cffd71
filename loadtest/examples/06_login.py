"""Users who sign in: each has cookies of its own, and private pages that no cache may answer.

Look at: the row `POST /admin/login`, slow on purpose, because a password's hash costs time; and in the tab
*Caches* (copy this file to mine/), where `/admin/id` never has a hit.
"""

import os
from pathlib import Path

from locust import HttpUser, between, task

# The stack makes this account for load tests: one line, `name:password`.
ACCOUNT = Path(os.environ.get("LOADTEST_ACCOUNT_FILE", "/run/player/account"))


class Member(HttpUser):
    """Signs in at its start, then asks who it is."""

    wait_time = between(1, 2)

    def on_start(self) -> None:
        name, _, password = ACCOUNT.read_text().strip().partition(":")
        form = {"username": name, "password": password}
        with self.client.post("/admin/login", form, allow_redirects=False, catch_response=True) as response:
            if response.status_code != 302:
                response.failure(f"not signed in: status {response.status_code}")

    @task
    def ask_who_i_am(self) -> None:
        with self.client.get("/admin/id", catch_response=True) as response:
            if "canAct=True" not in (response.text or ""):
                response.failure("the server does not know me")
