"""Faults for a running stack: each file describes what breaks, what users see, and what is promised."""
