"""Defers the templates of sqlglot's printer for DuckDB: on import it parses twenty statements, to print functions of
other dialects. No statement of ours contains these functions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlglot import exp

_PRINTER = "sqlglot.generators.duckdb"


@contextmanager
def deferred_templates() -> Iterator[None]:
    """While the printer is imported, its classes get templates that are parsed when they are used."""
    parse: Callable[..., Any] = exp.maybe_parse
    if _PRINTER in sys.modules:
        yield
        return

    def deferred(*given: Any, **named: Any) -> Any:
        caller = sys._getframe(1)
        of_class = caller.f_globals.get("__name__") == _PRINTER and "__qualname__" in caller.f_locals
        return _Template(lambda: parse(*given, **named)) if of_class else parse(*given, **named)

    vars(exp)["maybe_parse"] = deferred
    try:
        yield
    finally:
        vars(exp)["maybe_parse"] = parse


class _Template:
    """An attribute of a class that is computed when it is read."""

    def __init__(self, compute: Callable[[], Any]) -> None:
        self._compute = compute
        self._made: list[Any] = []

    def __get__(self, instance: object, owner: type) -> Any:
        if not self._made:
            # Two threads may both compute it; the results are alike.
            self._made.append(self._compute())
        return self._made[0]
