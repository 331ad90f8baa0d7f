"""Faults on purpose: simulated ones by the thousand, and real ones on running processes."""
