"""The verdict on a run: the thresholds and the judge, and what Locust has measured for it."""
