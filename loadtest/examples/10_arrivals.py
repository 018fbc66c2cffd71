# Look at the row `arrival visit` while you stop the site for two seconds, in another terminal:
# `docker compose pause nginx; sleep 2; docker compose unpause nginx`. A user who waits for each response
# would send nothing meanwhile, and have one slow sample. Here visits keep coming, so ten are slow.
import time

from gevent.pool import Pool
from locust import FastHttpUser, task

RATE = 5  # visits per second


class Arrivals(FastHttpUser):
    fixed_count = 1  # one user opens all visits, whatever the number of users
    concurrency = 100  # visits at a time; a further one waits, and its time counts

    def on_start(self) -> None:
        self.visitors = Pool(self.concurrency)
        self.due = time.monotonic()

    def wait_time(self) -> float:
        return max(0.0, self.due - time.monotonic())

    @task
    def arrive(self) -> None:
        self.visitors.spawn(self.visit, self.due)
        self.due += 1 / RATE  # not "now + 1 / RATE": a late visit must not delay the next one

    def visit(self, due: float) -> None:
        response = self.client.get("/stages/load")
        self.environment.events.request.fire(
            request_type="arrival",
            name="visit",
            response_time=(time.monotonic() - due) * 1000,  # ms, from when the visit should have begun
            response_length=0,
            exception=None if response.status_code == 200 else RuntimeError(f"status {response.status_code}"),
            context={},
        )

    def on_stop(self) -> None:
        self.visitors.kill()
