"""The stage core: bytes to messages, stages and what is on them, and who may send what. No Twisted in here.

Read in this order: `wire`, `players`, `things`, `layers`, `stage`, then what each mode does (`talk`,
`acting`, `drawing`, `sound`), `stages` (all stages of a server), and `limits` and `tokens`.
"""
