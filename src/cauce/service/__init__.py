"""Runs a deployment: configuration, entry points of its processes, start and stop."""
