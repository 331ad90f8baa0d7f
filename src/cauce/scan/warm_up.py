"""Compiles all kernels that are not in the cache yet, so that no run waits for the compiler, and links them."""

import os
from collections.abc import Sequence
from functools import partial

from cauce.process.isolation import isolated_all
from cauce.scan import text_hash
from cauce.scan.cells import decode
from cauce.scan.csv import gather, located, lookup, plain, short_text
from cauce.scan.integers import group_numbers, groups, key_bits, key_table, mask, narrow, numbering, scatter, wide
from cauce.scan.native import bundle, linked
from cauce.scan.native.kernel import Kernel, declared
from cauce.scan.sentiment import compound, emoji

__all__ = [
    "compile_kernels",
    "compound",
    "decode",
    "emoji",
    "gather",
    "group_numbers",
    "groups",
    "key_bits",
    "key_table",
    "located",
    "lookup",
    "mask",
    "narrow",
    "numbering",
    "plain",
    "scatter",
    "short_text",
    "text_hash",
    "wide",
]


def compile_kernels() -> None:
    """On all processors that this process may use."""
    processes = len(os.sched_getaffinity(0))
    isolated_all([partial(_load, declared[number::processes]) for number in range(processes)])
    if not bundle.installed.is_valid():
        linked.link_all(declared)


def _load(kernels: Sequence[Kernel]) -> None:
    for kernel in kernels:
        kernel.load()
