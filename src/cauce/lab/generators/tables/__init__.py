"""Generators of single tables."""
