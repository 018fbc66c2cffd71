"""Makes this folder a package: otherwise another `tests` in .venv, that of sniffpy, would be imported."""
