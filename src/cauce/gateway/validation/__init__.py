"""Validation of client input: names, part bodies, Arrow and Parquet bytes, file references."""
