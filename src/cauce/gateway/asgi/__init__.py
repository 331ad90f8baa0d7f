"""HTTP plumbing independent of routes: bodies, headers, limits, problem documents, event streams."""
