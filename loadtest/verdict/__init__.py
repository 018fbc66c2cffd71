"""The verdict on a run: the thresholds, the judge, and Locust's measurements as the judge needs them."""
