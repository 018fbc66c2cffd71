"""A package of its own, because another in .venv (of sniffpy) has this name."""
