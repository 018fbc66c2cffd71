"""Media files: `files` and `svg` check uploads, `speech` and `voices` record spoken lines."""
