"""A stand-in for the UpStage 2.4.2 server: stages, their web site and their sockets.

Packages, each importing only from those before it: `stage` (the core, without Twisted), `state` (what
survives a restart), `media` (uploads and speech), `net` (connections), `web` (the site), `mirror` (a standby
server). `service` builds the server from them, `cli` is the command. `camera` is
a simulated webcam; `content` has the stages of the release, `site` the pages.
"""

__version__ = "1.0.0"
