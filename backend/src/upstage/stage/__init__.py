"""The stage core: messages, stages and their things, and each role's modes. It imports no Twisted.

Read in this order: `wire`, `players`, `things`, `layers`, `stage`, then the modes (`talk`,
`acting`, `drawing`, `sound`), `stages` (all stages of a server), and `limits` and `keys`.
"""
