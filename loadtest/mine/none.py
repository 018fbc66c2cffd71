"""Locust wants a Python file in each folder of locustfiles; yours stand beside this one."""
