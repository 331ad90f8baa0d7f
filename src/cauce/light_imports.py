"""Loads libraries without those of their parts that no command uses: the documentation of NumPy, threads for its linear
algebra, and the metadata of installed packages. Only for a process of our own: a program that imports Cauce gets the
libraries as they are.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib import import_module
from types import ModuleType

NUMPY_DOCUMENTATION = ("numpy._core._add_newdocs", "numpy._core._add_newdocs_scalars")
"""Modules that only assign docstrings to functions in C: a third of the time that NumPy takes to load."""

PACKAGE_METADATA = "importlib.metadata"
"""Loads the parsers of e-mail and of archives. Polars and sqlglot import it, and use it for extensions alone."""


def load_less() -> None:
    """Call it before the first import of the libraries."""
    # Read by OpenBLAS when it is loaded. It starts a thread for every core, and they wait in loops for work that no
    # command has.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for name in NUMPY_DOCUMENTATION:
        sys.modules.setdefault(name, _OnDemand(name))
    if PACKAGE_METADATA not in sys.modules:
        stand_in = _OnDemand(PACKAGE_METADATA)
        vars(stand_in)["__path__"] = [os.path.join(each, "metadata") for each in importlib.__path__]
        # sqlglot imports it by name.
        vars(stand_in)["entry_points"] = lambda **named: _real(stand_in).entry_points(**named)
        vars(importlib)["metadata"] = sys.modules[PACKAGE_METADATA] = stand_in


class _OnDemand(ModuleType):
    """Stands for a module that is imported by the first use of an attribute."""

    def __getattr__(self, name: str) -> object:
        if name == "__path__":
            # Asked for by every import statement; a module has none, and a package has it already.
            raise AttributeError(name)
        return getattr(_real(self), name)


def _real(module: ModuleType) -> ModuleType:
    if sys.modules.get(module.__name__) is module:
        del sys.modules[module.__name__]
    return import_module(module.__name__)
