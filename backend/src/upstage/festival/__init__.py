"""The stage `festival`: 60 files as large as the two that the article measured, made at the first start.

The repository has the drawings as data (`acts`); a process of its own (`__main__`) turns them into pictures
and sounds, and `maker` adds the stage when all of them exist.
"""
