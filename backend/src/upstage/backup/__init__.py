"""Backups: one archive of a server's data, written while the server runs, and restored while it is stopped.

`archive` defines the format and reads it without trust; `write` and `restore` are the two directions; `moves`
replaces files, all or none.
"""
