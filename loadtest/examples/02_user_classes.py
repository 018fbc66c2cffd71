"""Two kinds of users: a class is a kind of user, a task is one of its actions.

Look at: the log line *All users spawned*, which counts three visitors for each collector (`weight`); and the
rows, in which a visitor opens the page four times as often as a picture (`@task(4)`). `FastHttpUser` costs
less CPU time than `HttpUser`, and its requests look the same.
"""

from random import choice

from locust import FastHttpUser, between, task

PICTURES = ("fox", "diva", "captain")


class Visitor(FastHttpUser):
    """Looks at the stage, and now and then at one picture."""

    weight = 3
    wait_time = between(1, 3)

    @task(4)
    def open_the_page(self) -> None:
        self.client.get("/stages/load")

    @task(1)
    def look_at_a_picture(self) -> None:
        self.client.get("/media/fox.svg")


class Collector(FastHttpUser):
    """Fetches any picture; `name` puts all of them into one row."""

    weight = 1
    wait_time = between(1, 3)

    @task
    def collect(self) -> None:
        self.client.get(f"/media/{choice(PICTURES)}.svg", name="/media/[picture].svg")
