"""Our own load generators: they run inside the lab's containers, with /labs on Python's path.

Each takes its settings as one argument in JSON and prints its report as one line of JSON. But distance.py
runs another program, and round_robin.lua is a script for wrk.
"""
