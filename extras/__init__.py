"""A package of its own, because another, Debian's python3-extras, has this name."""
