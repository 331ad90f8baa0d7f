"""PySpark in local mode, one thread a core: data frames, and a cached one where several queries need the same rows.

A file with line ends in quoted cells needs `multiLine`, which one task reads from end to end.
"""
