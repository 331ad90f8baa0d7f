"""Polars: lazy scans, and one `collect_all` on the streaming engine, which shares common subplans of the queries."""
