"""Reads the logs of nginx, Varnish and the backend (logs/README.md)."""
