"""policyd: a Flash socket policy daemon.

Read in this order: policy, log, server, check, cli.
"""
