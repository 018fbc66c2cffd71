"""Runs the labs: labs/NAME/lab.toml is the experiment, `python -m bench` measures it and reports."""
