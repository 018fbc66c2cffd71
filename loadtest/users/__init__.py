"""The behaviour of users: the base classes of locustfile.py, and what they share."""
