"""One-line messages for errors in a dataset file: the location in the user's code and what to write instead."""

from __future__ import annotations

import ast
import builtins
import importlib
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import NoReturn
from weakref import WeakKeyDictionary

from cauce.errors import CauceError, PlanError, UsageError, did_you_mean
from cauce.plan.checks.arguments import listed
from cauce.plan.nodes import Node

_LANGUAGE = "cauce.plan"
_PACKAGE = str(Path(__file__).parents[2])
_places: WeakKeyDictionary[Node, tuple[str, int | None]] = WeakKeyDictionary()

RELATION_HINTS = {
    **dict.fromkeys(("head", "take", "first", "slice", "offset"), 'use limit(10, by="column", offset=0)'),
    **dict.fromkeys(("tail", "last"), 'use top_k(10, by=desc("column"))'),
    **dict.fromkeys(("where", "query", "having"), 'use filter(pl.col("n") > 1)'),
    **dict.fromkeys(("groupby", "groupBy"), 'use group_by("key").agg(n=agg.count())'),
    **dict.fromkeys(("unique", "drop_duplicates"), 'use distinct("column")'),
    **dict.fromkeys(("order_by", "orderBy", "sort_values", "sort_by"), 'use sort("column")'),
    **dict.fromkeys(("rename", "drop", "drop_columns"), 'use select("kept", new_name="old_name")'),
    **dict.fromkeys(("with_column", "withColumn", "assign"), 'use with_columns(name=pl.col("n") * 2)'),
    **dict.fromkeys(("merge", "join_where"), 'use join(other, on="key")'),
    **dict.fromkeys(("vstack", "append", "extend"), "use concat(other)"),
    **dict.fromkeys(("except_", "minus", "subtract"), "use difference(other)"),
    **dict.fromkeys(("count", "len", "height", "shape"), "use agg(n=agg.count())"),
    **dict.fromkeys(("sum", "mean", "min", "max", "median"), 'use agg(n=agg.sum("column")) and the like'),
    **dict.fromkeys(("value_counts",), 'use group_by("column").agg(n=agg.count())'),
    **dict.fromkeys(("collect", "lazy", "compute", "show", "execute", "fetch"), "return the relation; Cauce runs it"),
    **dict.fromkeys(("drop_nulls", "dropna"), 'use filter(pl.col("column").is_not_null())'),
    **dict.fromkeys(("fill_null", "fillna"), 'use with_columns(n=pl.col("n").fill_null(0))'),
    **dict.fromkeys(("union_all",), "use concat(other)"),
    **dict.fromkeys(("aggregate",), "use agg(n=agg.count())"),
}
"""Replacements for methods of relations in other libraries."""

GROUPED_HINTS = {
    **dict.fromkeys(("count", "len", "size"), "use .agg(n=agg.count())"),
    **dict.fromkeys(("sum",), 'use .agg(n=agg.sum("column"))'),
    **dict.fromkeys(("mean", "avg"), 'use .agg(n=agg.mean("column"))'),
    **dict.fromkeys(("min",), 'use .agg(n=agg.min("column"))'),
    **dict.fromkeys(("max",), 'use .agg(n=agg.max("column"))'),
    **dict.fromkeys(("median", "quantile"), 'use .agg(n=agg.quantile("column", 0.5))'),
    **dict.fromkeys(("first",), 'use .agg(n=agg.first("column"))'),
    **dict.fromkeys(("n_unique", "nunique"), 'use .agg(n=agg.n_unique("column"))'),
    **dict.fromkeys(("aggregate",), "use .agg(n=agg.count())"),
    **dict.fromkeys(("head", "top_k", "tail", "limit"), 'use top_k(n, by="column", per="key") of the relation'),
    **dict.fromkeys(("filter", "sort", "select", "having", "join"), "write .agg(...) first"),
}


class UnknownMethod(PlanError, AttributeError):
    """A relation has no attribute of this name."""


def unknown_method(owner: object, name: str, hints: dict[str, str], columns: Iterable[str]) -> NoReturn:
    if name.startswith("_"):
        raise AttributeError(name)
    what = "a relation" if type(owner).__name__ in ("Relation", "Table") else "group_by(...)"
    if name in columns:
        raise UnknownMethod(f'{what} has no method {name}; for the column write pl.col("{name}")')
    methods = [each for each in dir(type(owner)) if not each.startswith("_")]
    if name in hints:
        raise UnknownMethod(f"{what} has no method {name}; {hints[name]}")
    hint = did_you_mean(name, methods) or f"; it has {listed(methods)}"
    raise UnknownMethod(f"{what} has no method {name}{hint}")


# Locations in the user's code.


def remember_place(node: Node) -> None:
    """Records the line of the user's code that creates a node, for errors found later."""
    if node not in _places:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and _is_ours(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is not None:
            _places[node] = frame.f_code.co_filename, frame.f_lineno


def place_of(node: Node) -> str:
    return place(*_places[node]) if node in _places else ""


def place(file: str, line: int | None = None) -> str:
    """A line of a file, with its path relative to the working directory if possible."""
    path, here = Path(file), Path.cwd()
    shown = str(path.relative_to(here)) if path.is_relative_to(here) else file
    return f"{shown}, line {line}" if line else shown


def _is_ours(file: str) -> bool:
    return file.startswith((f"{_PACKAGE}/plan/", f"{_PACKAGE}/operators/"))


def place_in(problem: BaseException, file: str) -> str:
    """The last line of this file in an exception's traceback."""
    own = [each for each in traceback.extract_tb(problem.__traceback__) if each.filename == file]
    return place(file, own[-1].lineno) if own else place(file)


# Descriptions of exceptions.


def located(problem: Exception | SystemExit, file: str, what: str = "") -> CauceError:
    """The error to raise for an exception in a user's file: one line with its location. `what` names the query."""
    kind = type(problem) if isinstance(problem, UsageError) and type(problem) is not UnknownMethod else PlanError
    where = _syntax_place(problem) if isinstance(problem, SyntaxError) else place_in(problem, file)
    return kind(": ".join(each for each in (where, what, described(problem, file)) if each))


def _syntax_place(problem: SyntaxError) -> str:
    return place(str(problem.filename), problem.lineno)


def described(problem: Exception | SystemExit, file: str) -> str:
    """The message of an exception in one line, with a hint."""
    match problem:
        case PlanError():
            line = str(problem)
        case SyntaxError():
            line = f"syntax error: {problem.msg}"
        case NameError():
            line = _unknown_name(problem)
        case ImportError():
            line = _failed_import(problem, file)
        case AttributeError():
            line = _unknown_attribute(problem)
        case TypeError() if _is_truth_value(problem):
            line = "and, or, not, in and chained comparisons do not work on columns; write (a) & (b), (a) | (b) or ~(a)"
        case _:
            line = f"{type(problem).__name__}: {problem}{_python_aggregate(problem)}"
    return " ".join(line.split())


def _unknown_name(problem: NameError) -> str:
    name = problem.name or ""
    language = importlib.import_module(_LANGUAGE).__all__
    aggregates = importlib.import_module(f"{_LANGUAGE}.agg").__all__
    if name == "pl":
        hint = "; write import polars as pl"
    elif name in language:
        hint = f"; write from cauce import {name}"
    elif name in aggregates:
        hint = f"; write agg.{name}"
    else:
        frames = [frame for frame, _ in traceback.walk_tb(problem.__traceback__)]
        own = {*frames[-1].f_globals, *frames[-1].f_locals} if frames else set()
        hint = did_you_mean(name, [*sorted(own), *language, *dir(builtins)])
    return f"name {name} is not defined{hint}"


def _failed_import(problem: ImportError, file: str) -> str:
    if isinstance(problem, ModuleNotFoundError):
        return f"no module named {problem.name}; install it where Cauce runs, or remove the import"
    module = sys.modules.get(problem.name or "")
    missing = [name for name in _imported(file, problem.name) if not hasattr(module, name)]
    if not missing:
        return f"ImportError: {problem}"
    known = getattr(module, "__all__", dir(module))
    return f"{problem.name} has no {missing[0]}{did_you_mean(missing[0], known)}"


def _imported(file: str, module: str | None) -> list[str]:
    """Names that a file imports from a module."""
    try:
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return []
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == module]
    return [alias.name for node in found for alias in node.names if alias.name != "*"]


def _unknown_attribute(problem: AttributeError) -> str:
    name, owner = problem.name or "", problem.obj
    known = [each for each in dir(owner) if not each.startswith("_")] if owner is not None else []
    return f"AttributeError: {problem}{did_you_mean(name, known) if 'Did you mean' not in str(problem) else ''}"


def _python_aggregate(problem: BaseException) -> str:
    """A hint for Python's built-in sum used in place of agg.sum."""
    frames = traceback.extract_tb(problem.__traceback__)
    is_sum = isinstance(problem, TypeError) and bool(frames) and "=sum(" in (frames[-1].line or "")
    return '; sum is Python\'s built-in function; write agg.sum("column")' if is_sum else ""


def _is_truth_value(problem: TypeError) -> bool:
    frames = traceback.extract_tb(problem.__traceback__)
    return bool(frames) and frames[-1].name == "__bool__" and "polars" in frames[-1].filename
