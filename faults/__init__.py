"""Faults for a running stack: each file says what breaks, what users see, and what is promised."""
