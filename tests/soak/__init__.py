"""`make soak`: an ordinary load for a long time, and whether anything grows (docs/reliability.md)."""
