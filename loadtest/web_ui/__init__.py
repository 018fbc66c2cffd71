"""Additions to Locust's web UI: a check of its requests, a login, and tabs."""
