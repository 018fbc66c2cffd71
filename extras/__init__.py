"""Makes this folder a package: otherwise Debian's python3-extras, which has this name, would be imported."""
