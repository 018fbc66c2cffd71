"""Somebody who only looks at pictures, without a browser cache: work for the caches of the house."""

import random

from locust import between, task

from visitors.browser_cache import BrowserCache
from visitors.visitor import Visitor


class Reader(Visitor):
    """Fetches the files that the stage page names, one after the other."""

    weight = 2
    wait_time = between(0.2, 1)

    @task
    def read(self) -> None:
        """One file; the page itself only until it has told what there is."""
        if not self.assets and not self.fetch(self.stage_url, self.read_stage):
            return
        self.browser_cache = BrowserCache()
        self.fetch(random.choice(self.assets))
