"""Reads the logs of nginx, Varnish and the backend (README.md)."""
