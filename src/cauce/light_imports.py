"""Loads libraries without those of their parts that no command uses: the documentation of NumPy, and threads for its
linear algebra. Only for a process of our own: a program that imports Cauce gets the libraries as they are.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType

NUMPY_DOCUMENTATION = ("numpy._core._add_newdocs", "numpy._core._add_newdocs_scalars")
"""Modules that only assign docstrings to functions in C: a third of the time that NumPy takes to load."""


def load_less() -> None:
    """Call it before the first import of NumPy."""
    # Read by OpenBLAS when it is loaded. It starts a thread for every core, and they wait in loops for work that no
    # command has.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for name in NUMPY_DOCUMENTATION:
        sys.modules.setdefault(name, _OnDemand(name))


class _OnDemand(ModuleType):
    """Stands for a module that is imported by the first use of an attribute: a later version may have some."""

    def __getattr__(self, name: str) -> object:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)
