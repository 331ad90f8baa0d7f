"""Finds the machine code of a kernel: in the bundle of the wheel, in the library of a clone, in the cache, or by
compiling it."""

from __future__ import annotations

import platform
from importlib.util import find_spec
from typing import TYPE_CHECKING

from cauce.errors import CauceError
from cauce.scan.native import bundle, linked

if TYPE_CHECKING:
    from cauce.scan.native.kernel import Kernel

_COMPILERS = ("llvmlite", "numba")


def address_of(kernel: Kernel) -> int:
    """Raises CauceError if the kernel is not in the bundle and no compiler is installed."""
    found = bundle.installed.address_of(kernel) or linked.own().address_of(kernel)
    if found is not None:
        return found
    try:
        from cauce.scan.native import store

        return store.address_of(kernel)
    except ModuleNotFoundError as missing:
        if missing.name not in _COMPILERS:
            raise
        raise CauceError(
            f"this installation has no compiled kernel {kernel.name} for this processor ({platform.machine()}), or its "
            "sources have changed, and no compiler is installed; install Cauce again, or install its compiler: "
            "pip install 'cauce[build]'"
        ) from missing


def prepare() -> None:
    """Loads once, before processes are forked, what each of them needs to load kernels."""
    if not (bundle.installed.is_valid() or linked.own().is_valid()) and find_spec(_COMPILERS[0]):
        from cauce.scan.native import store

        store.target_machine()
        store.surroundings()
