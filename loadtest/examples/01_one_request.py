"""One request, again and again.

Look at: the row `GET /stages/load`. *# reqs* is how often it was sent, *Median* how long half of the
responses took at most. Try `USERS=1`, then `USERS=100`: the requests a second grow with the users, until
something is full.
"""

from locust import HttpUser, constant, task


class OneRequest(HttpUser):
    """Each user sends the request, waits a second after the response, and sends it again."""

    wait_time = constant(1)

    @task
    def open_the_page(self) -> None:
        """`self.client` is a session of the library `requests`: it keeps cookies and connections."""
        self.client.get("/stages/load")
