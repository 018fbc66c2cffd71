"""What the caches did with the requests of a run, counted; the tab "Caches" shows it."""
