"""Levels of processors: the compiled kernels of a wheel exist once for each, and the best that this one supports is
loaded. The levels of x86-64 are those of its psABI, which compilers and Linux distributions use too.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Collection
from dataclasses import dataclass

from cauce.errors import UsageError

VARIABLE = "CAUCE_PROCESSOR"
"""Names the level to use, instead of the best one."""

_FIRST_PROCESSOR_BYTES = 16384


@dataclass(frozen=True)
class Level:
    name: str
    """As the compiler calls it."""
    flags: frozenset[str] = frozenset()
    """The features that it has beyond the next lower level, as Linux calls them."""


_LEVELS = {
    "x86_64": (
        Level("x86-64-v2", frozenset({"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"})),
        Level("x86-64-v3", frozenset({"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"})),
        Level("x86-64-v4", frozenset({"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"})),
    ),
    "aarch64": (Level("generic"),),
}


def levels(machine: str | None = None) -> tuple[Level, ...]:
    """From the lowest to the highest. Empty for kinds of processors that wheels are not built for."""
    return _LEVELS.get(machine or platform.machine(), ())


def supported_levels(flags: Collection[str] | None = None) -> list[str]:
    """The levels that this processor, or one with these features, supports, from the highest to the lowest."""
    present = processor_flags() if flags is None else flags
    found: list[str] = []
    for level in levels():
        if not level.flags.issubset(present):
            break
        found.insert(0, level.name)
    return found


def wanted_levels() -> list[str]:
    """The levels to try, from the first to the last."""
    supported = supported_levels()
    wanted = os.environ.get(VARIABLE)
    if not wanted:
        return supported
    if wanted not in supported:
        raise UsageError(f"{VARIABLE} is {wanted}, but this processor supports {', '.join(supported) or 'no level'}")
    return [wanted]


def processor_flags() -> frozenset[str]:
    """The features of the first processor that both it and the operating system support."""
    try:
        with open("/proc/cpuinfo", "rb") as file:
            lines = file.read(_FIRST_PROCESSOR_BYTES).splitlines()
    except OSError:
        return frozenset()
    shown = next((line for line in lines if line.startswith(b"flags")), b"")
    return frozenset(shown.decode("ascii", "replace").partition(":")[2].split())
