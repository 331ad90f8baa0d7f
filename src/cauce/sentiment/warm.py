"""Compiles the sentiment kernel ahead of its first use, as a set-up step."""

from __future__ import annotations


def compile_kernels() -> None:
    """Leave the kernel in numba's cache; quick if it is there already."""
    from cauce.sentiment import kernel  # noqa: F401 - importing is all it takes, since the signature is given
