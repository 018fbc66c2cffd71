"""A stand-in for the UpStage 2.4.2 server: stages, their web site and their sockets.

backend/README.md lists the packages by layer; backend/tests/test_source.py says which may import which.
"""

__version__ = "1.0.0"
