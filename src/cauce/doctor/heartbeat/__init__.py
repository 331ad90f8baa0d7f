"""Heartbeats that every process sends: when to send one, and sending it."""
