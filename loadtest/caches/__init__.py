"""Counts what the caches did with the requests of a run; the tab "Caches" shows it."""
