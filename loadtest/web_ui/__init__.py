"""Locust's web UI: which requests it accepts, its login, and how tabs of ours are added."""
