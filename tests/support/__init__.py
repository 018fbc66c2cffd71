"""Shared by the tests of several folders: HTTP client and origin, stage client, waiting, free ports."""
