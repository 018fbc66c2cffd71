"""Backups: one archive of a server's data, written while it runs, and restored while it does not.

`archive` is the format, and reads it without trust; `write` and `restore` are the two directions; `moves`
replaces files, all or none.
"""
