"""Connections other than the web site's: stage clients, webcam uploads, purges, metrics, the health check.

A stage client's bytes take this way: `sockets` (or `web.websocket`), `connection`, `intake`, then the stages.
"""
