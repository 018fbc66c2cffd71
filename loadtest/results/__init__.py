"""What a run has measured: the tabs *Verdict* and *Compare*, the report, and the output at its end."""
