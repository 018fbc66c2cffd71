"""Locust needs a Python file in each folder of locustfiles; put your own files beside this one."""
