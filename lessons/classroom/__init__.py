"""A class on one server: copies of the stack, each with a checkout, ports, networks and passwords of its own.

docs/teaching-class.md explains the commands.
"""
