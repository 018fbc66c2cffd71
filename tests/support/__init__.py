"""Shared by the tests of several folders: HTTP client and origin, client of the stage, waiting, free ports."""
