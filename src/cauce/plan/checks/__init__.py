"""Validation of declared datasets and queries. Every error message says what to write instead."""
