"""A stand-in for the UpStage 2.4.2 server: stages, their web site and their sockets.

The README of `backend/` lists the packages by layer; tests/test_source.py says which may import which.
"""

__version__ = "1.0.0"
