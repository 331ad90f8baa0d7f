"""The nodes of a plan: one class per kind of step, with its types, rewrites, placement, evaluation and explanation.

The phases of planning and the evaluator call these methods and know no kind: a new step is a new class here.
"""

from cauce.plan.nodes.base import Mergeable, Node, SameColumns
from cauce.plan.nodes.concat import Concat
from cauce.plan.nodes.contexts import Evaluation, PlacedNode, Placement, Planner, Spread
from cauce.plan.nodes.distinct import Distinct
from cauce.plan.nodes.explode import Explode
from cauce.plan.nodes.filter import Filter
from cauce.plan.nodes.group_by import Final, GroupBy, Partial
from cauce.plan.nodes.inputs import Receive, Scan, Values
from cauce.plan.nodes.join import Join, KeyFilter, Strategy
from cauce.plan.nodes.limit import Limit
from cauce.plan.nodes.project import Convert, Pick, Select, WithColumns
from cauce.plan.nodes.scalars import Scalars
from cauce.plan.nodes.sort import Sort
from cauce.plan.nodes.top_k import TopK
from cauce.plan.nodes.window import Window

__all__ = [
    "Concat",
    "Convert",
    "Distinct",
    "Evaluation",
    "Explode",
    "Filter",
    "Final",
    "GroupBy",
    "Join",
    "KeyFilter",
    "Limit",
    "Mergeable",
    "Node",
    "Partial",
    "Pick",
    "PlacedNode",
    "Placement",
    "Planner",
    "Receive",
    "SameColumns",
    "Scalars",
    "Scan",
    "Select",
    "Sort",
    "Spread",
    "Strategy",
    "TopK",
    "Values",
    "Window",
    "WithColumns",
]
