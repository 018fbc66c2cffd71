# Fifty requests a second in two ways: by users who wait for their responses, and by arrivals. Look at the
# column 99% of both rows after a pause in the middle of the run, in another terminal: `docker compose pause
# backend; sleep 2; docker compose unpause backend`. Lesson 12 says what it means.
import time

from gevent.pool import Pool
from locust import FastHttpUser, constant_throughput, task

RUN = round(time.time())  # distinguishes the runs in the servers' logs
SITE = {"Host": "nginx.localhost"}  # it has no cache: the backend answers each request


class Waits(FastHttpUser):
    """A closed model: five users who each send ten requests a second, as long as they get their responses."""

    fixed_count = 5  # whatever the number of users
    wait_time = constant_throughput(10)

    @task
    def ask(self) -> None:
        self.client.get(f"/stages/load?waits={RUN}", name="waits", headers=SITE)


class Arrives(FastHttpUser):
    """An open model: fifty visitors arrive each second, whether or not earlier ones have their responses."""

    fixed_count = 1
    wait_time = constant_throughput(50)
    concurrency = 200  # visits at a time, twice as many as arrive in two seconds

    def on_start(self) -> None:
        self.visitors = Pool(self.concurrency)

    @task
    def ask(self) -> None:
        self.visitors.spawn(self.client.get, f"/stages/load?arrives={RUN}", name="arrives", headers=SITE)

    def on_stop(self) -> None:
        self.visitors.kill()
