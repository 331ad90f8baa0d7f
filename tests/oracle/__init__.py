"""An independent second answer to the nineteen queries, for tests to compare with byte for byte.

It is slow, holds its input in memory, and must never import the system that it judges.
"""
