"""Runs the labs: labs/NAME/lab.toml is the experiment; `python -m labs.bench` measures it and reports."""
