"""Where a node of a syntax tree is in the text, and which of its parts are supported."""

from __future__ import annotations

from sqlglot import exp

from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.syntax_tree import starts_of


def at(node: exp.Expr) -> int:
    """The offset of a node: its own, of its first part that has one, or of its nearest parent."""
    starts = starts_of(node)
    if starts:
        return min(starts)
    parent = node.parent
    while parent is not None:
        if (start := parent.meta.get("start")) is not None:
            return int(start)
        starts = starts_of(parent)
        if starts:
            return min(starts)
        parent = parent.parent
    return 0


def only(node: exp.Expr, what: str, *allowed: str) -> None:
    """Refuses a node with parts other than the allowed ones."""
    for name, value in node.args.items():
        if name in allowed or value is None or value is False or value == []:
            continue
        part = next(
            (each for each in (value if isinstance(value, list) else [value]) if isinstance(each, exp.Expr)), None
        )
        shown = _PARTS.get(name, name.strip("_").replace("_", " ").upper())
        raise StatementError(f"{shown} of {what} is not supported", at(part) if part is not None else at(node))


_PARTS = {
    "pivots": "PIVOT",
    "sample": "TABLESAMPLE",
    "laterals": "LATERAL",
    "locks": "FOR UPDATE",
    "by_name": "BY NAME",
}


def text_of(node: exp.Expr) -> str:
    """The node as SQL in one line, for names of columns and for messages."""
    from cauce.sql_frontend.grammar import Dialect

    try:
        printed = node.sql(dialect=Dialect, normalize_functions=False, comments=False)
    except (ValueError, TypeError, AttributeError, KeyError, IndexError):
        return type(node).__name__
    return " ".join(printed.split())


def position_of(node: exp.Expr, count: int, clause: str) -> int | None:
    """The index of an output column that is given by its number. Another literal of ORDER BY would have no effect."""
    literal = node.this if isinstance(node, exp.Neg) else node
    if not isinstance(literal, exp.Literal | exp.Null | exp.Boolean):
        return None
    if literal is not node or not isinstance(node, exp.Literal) or node.is_string or not str(node.this).isdecimal():
        if clause != "ORDER BY":
            return None
        raise StatementError(f"ORDER BY {node.sql()} has no effect; name a column or its position", at(node))
    position = int(node.this)
    if not 1 <= position <= count:
        raise StatementError(f"{clause} {position}: there are {count} output columns", at(node))
    return position - 1
