"""Joins, aggregates, top-k, order and partitioning: pure functions on frames."""
