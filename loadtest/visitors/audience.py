"""Somebody in the audience: a browser that opens the stage, takes a seat, and reloads now and then."""

from locust import task

from visitors.visitor import Spectator


class Audience(Spectator):
    """Page, scripts, key and media, then a seat over the raw socket."""

    weight = 10

    @task(1)
    def leave_the_seat_to_a_newcomer(self) -> None:
        """Somebody else loads the stage."""
        self.become_a_newcomer()
        self.visit(self.patience())

    @task(3)
    def load_stage_and_stay(self) -> None:
        """The same visitor loads it again, and asks only for what may have changed."""
        self.visit(self.patience())
