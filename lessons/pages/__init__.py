"""The lessons as web pages: files that a theatre's backend serves below /lessons/. They are written when the
backend starts and when a check reports results.
"""
