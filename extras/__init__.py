"""Makes this folder a package: otherwise Debian's python3-extras, of the same name, would be imported."""
