"""Two servers, "backend" and "mirror", each with data of its own: one is active, the other copies it.

`lease` and `control` are files that both see; `standby` waits for its turn and has `copying` done meanwhile;
`active` is the part of a running server; `watchdog` kills one that hangs.
"""
