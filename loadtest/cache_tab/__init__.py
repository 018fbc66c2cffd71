"""What the caches did, in a tab of Locust's web UI and beside it how hard the backend worked."""
