"""Locates records and cells in CSV bytes, and splits files into parts."""
