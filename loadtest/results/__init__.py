"""A run's measurements: the tabs *Verdict* and *Compare*, the report, and the output at the end."""
