"""The number of users over time: a shape, whose `tick` Locust asks every second.

Look at: the chart *Number of Users* on the page (copy this file to mine/), or the log: a tenth of the users,
then suddenly all of them, then half. Response times after the jump say whether the site was ready for it.
"""

from locust import FastHttpUser, LoadTestShape, constant, task

PARTS = ((0.3, 0.1), (0.7, 1.0), (1.0, 0.5))  # until this share of the time: this share of the users


class Guest(FastHttpUser):
    """Opens the page once a second."""

    wait_time = constant(1)

    @task
    def open_the_page(self) -> None:
        self.client.get("/stages/load")


class Rush(LoadTestShape):
    """Takes the number of users and the time of the run from where you typed them."""

    use_common_options = True

    def tick(self) -> tuple[int, float] | None:
        options = self.runner.environment.parsed_options
        passed = self.get_run_time() / (options.run_time or 60)
        for until, share in PARTS:
            if passed < until:
                return max(1, round(share * options.num_users)), options.num_users
        return None
