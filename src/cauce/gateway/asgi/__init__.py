"""HTTP plumbing independent of routes: the application, bodies, limits, problem documents, event streams."""
