"""The verdict on a run: thresholds, the judge, the report of `make load`, and the tab "Verdict"."""
