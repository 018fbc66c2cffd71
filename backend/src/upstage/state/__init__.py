"""The persistent state: players, media, stages and chat, in one SQLite file and in memory.

Read in this order: `records` (the values), `database` (SQLite), `store` (its thread), `in_memory` (the state
in memory, and the live stages), `seed` (the content of a release), then `passwords`, `login_limits` and
`accounts`.
"""
