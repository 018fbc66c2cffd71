"""Programs of this checkout that ask the running stack."""
