"""Power cuts on purpose: a file system of our own that keeps only synced data, and jobs that run on it."""
