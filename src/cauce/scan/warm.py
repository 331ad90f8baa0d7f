"""Compiles the scan kernels and leaves them in their cache: importing them is all it takes."""

from cauce.scan import cells, gather, located

__all__ = ["cells", "gather", "located"]
