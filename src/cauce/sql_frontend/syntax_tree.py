"""Walks a syntax tree. The walk of the parser's library takes several times as long, and planning needs many."""

from __future__ import annotations

from sqlglot import exp


def nodes_of(tree: exp.Expr) -> list[exp.Expr]:
    """The node and all below it, by depth."""
    found = [tree]
    for node in found:
        for value in node.args.values():
            if isinstance(value, exp.Expr):
                found.append(value)
            elif isinstance(value, list):
                found += [each for each in value if isinstance(each, exp.Expr)]
    return found


def starts_of(tree: exp.Expr) -> list[int]:
    """The offsets in the text of the nodes that have one."""
    return [int(start) for each in nodes_of(tree) if (start := each.meta.get("start")) is not None]
