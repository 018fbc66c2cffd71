"""A response can be wrong although its status is 200. `catch_response` lets you say so.

Look at: the table of errors (the tab *Failures*), which shows your words. Ask for `<titel>` instead of
`<title>`: every second request fails, and the exit code is 1.
"""

from locust import FastHttpUser, between, task

PICTURE = "/media/fox.svg"


class Critic(FastHttpUser):
    """Reads what comes back."""

    wait_time = between(1, 2)

    def on_start(self) -> None:
        """Run once for each user: afterwards a cache has the picture."""
        self.client.get(PICTURE, name=f"{PICTURE} (first)")

    @task
    def the_page_is_whole(self) -> None:
        with self.client.get("/stages/load", catch_response=True) as response:
            if response.status_code == 200 and "<title>" not in (response.text or ""):
                response.failure("the page has no title")

    @task
    def a_cache_has_the_picture(self) -> None:
        with self.client.get(PICTURE, catch_response=True) as response:
            if "hit" not in (response.headers or {}).get("cache-status", ""):
                response.failure("no cache had the picture")
