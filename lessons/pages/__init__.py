"""The lessons as web pages: files that the theatre's backend serves below /lessons/. They are written when it
starts and when a check reports results.
"""
