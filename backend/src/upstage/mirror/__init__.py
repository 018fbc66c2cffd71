"""Two servers, "backend" and "mirror", each with its own data: one is active, the other copies it.

`lease` and `control` are files that both see; `standby` runs `copying` while it waits for its turn;
`active` is the part of a running server; `watchdog` kills one that hangs.
"""
