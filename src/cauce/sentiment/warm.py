"""Compiles all kernels that have never been compiled here, so that no run has to wait for it."""

from cauce.native.kernel import declared
from cauce.scan import cells, gather, located, lookup
from cauce.sentiment import compound, emoji

__all__ = ["cells", "compile_kernels", "compound", "emoji", "gather", "located", "lookup"]


def compile_kernels() -> None:
    for kernel in declared:
        kernel.load()
