"""The behaviour of users: the base classes for locustfile.py, and the modules that they share."""
