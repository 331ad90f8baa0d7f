"""Lowers UNION, INTERSECT and EXCEPT."""

from __future__ import annotations

from cauce.plan.relation import Relation
from cauce.sql_frontend.tree import SetOperation


def lower_set_operation(step: SetOperation, left: Relation, right: Relation) -> Relation:
    columns = list(step.columns)
    left, right = left.select(*columns), right.select(*columns)
    match step.kind:
        case "union":
            return left.concat(right) if step.all else left.union(right)
        case "intersect":
            return left.intersect(right, distinct=not step.all)
        case "except":
            return left.difference(right, distinct=not step.all)
