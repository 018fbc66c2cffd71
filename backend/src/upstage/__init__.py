"""A stand-in for the UpStage 2.4.2 server: stages, their web site and their sockets.

Read in this order: `wire` (bytes and messages), `things` and `stage` (what a stage is), `house`
(all stages, who may do what), `records`, `database` and `repertoire` (what outlasts a restart),
`sockets` and `web` (the doors), `service` (putting it together).
"""

__version__ = "1.0.0"
