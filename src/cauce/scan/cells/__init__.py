"""Decodes cells: integers, decimals, booleans, dates, lists and JSON."""
