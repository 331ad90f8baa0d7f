"""Tasks: lanes of a table and partitions of a fold. They run in small steps, and may crash between any two.

A crash is harmless because of the order within a step: output is appended before the position is recorded, the
position is recorded before the lease is released, and every holder appends the same records.
"""
