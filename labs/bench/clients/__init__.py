"""The labs' own load generators, which run inside the lab's containers with /labs on Python's path.

Each takes its settings as one argument in JSON and prints its report as one line of JSON. The exceptions are
distance.py, which runs another program, and round_robin.lua, a script for wrk.
"""
