"""A class on one server: copies of the stack, each with its own checkout, ports, networks and passwords.

docs/teaching-class.md explains the commands.
"""
