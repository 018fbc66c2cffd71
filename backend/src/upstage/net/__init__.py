"""Connections other than the web site's: stage clients, webcam uploads, purges, metrics, the health check.

A stage client's bytes go through `sockets` (or `web.websocket`), `connection` and `input` to the stages.
"""
