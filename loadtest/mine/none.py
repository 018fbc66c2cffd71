"""Locust needs a Python file in each folder of locustfiles; put yours beside this one."""
