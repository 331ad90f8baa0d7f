"""Health of processes, reconciliation of desired and actual state, and the timeline of events."""
