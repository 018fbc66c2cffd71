"""How users behave: the base classes of locustfile.py, and what they have in common."""
