"""Compiles the sentiment kernels ahead of their first use, as a set-up step."""

from __future__ import annotations

from importlib import import_module


def compile_kernels() -> None:
    """Leave the kernels in numba's cache; importing them is all it takes, since their signatures are given."""
    for name in ("reading", "rules", "emoji"):
        import_module(f"cauce.sentiment.{name}")
