"""Reads table files: parts, blocks, decompression, rejects. Knows nothing about queries."""
