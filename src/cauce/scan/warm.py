"""Compiles the scan kernels and leaves them in their cache: importing them is all it takes."""

from cauce.scan import cells, gather, located, lookup

__all__ = ["cells", "gather", "located", "lookup"]
