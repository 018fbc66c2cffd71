"""The measurements of a run: the tabs *Verdict* and *Compare*, the report, and the output at its end."""
