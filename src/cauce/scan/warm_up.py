"""Compiles all kernels that are not in the cache yet, so that no run waits for the compiler."""

from cauce.scan import text_hash
from cauce.scan.cells import decode
from cauce.scan.csv import gather, located, lookup, short_text
from cauce.scan.integers import groups, key_bits, key_table, narrow, scatter
from cauce.scan.native.kernel import declared
from cauce.scan.sentiment import compound, emoji

__all__ = [
    "compile_kernels",
    "compound",
    "decode",
    "emoji",
    "gather",
    "groups",
    "key_bits",
    "key_table",
    "located",
    "lookup",
    "narrow",
    "scatter",
    "short_text",
    "text_hash",
]


def compile_kernels() -> None:
    for kernel in declared:
        kernel.load()
