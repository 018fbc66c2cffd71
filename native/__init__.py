"""The stack without an engine: the same programs with the same configuration, as processes on loopback."""
