"""The table of settings, and the running stack for programs that query it."""
