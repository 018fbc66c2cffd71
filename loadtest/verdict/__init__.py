"""Is a run good enough? Thresholds, the judge, the report of `make load`, and the tab "Verdict"."""
