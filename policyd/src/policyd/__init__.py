"""policyd: a Flash socket policy daemon.

Read in this order: wire, policy, server, journal, listeners, daemon, check, cli.
"""
