"""Polars: lazy scans, and one `collect_all` on the streaming engine, which shares what queries have in common."""
