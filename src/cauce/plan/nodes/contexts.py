"""The planner and the evaluator as a node sees them, and where the planner has placed a node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import polars as pl

from cauce.operators.join import Build
from cauce.operators.late import Late, Rows
from cauce.scan.tables import TableSpec

if TYPE_CHECKING:
    from cauce.plan.nodes.base import Mergeable, Node
    from cauce.plan.nodes.inputs import Receive

Spread = Literal["hash", "gather", "broadcast", "ordered"]
"""How an edge distributes rows: by key hash, to one reader, broadcast to all, to one reader in input order."""


@dataclass(frozen=True)
class Placement:
    """The stage that computes a node: a pass over the parts of a table (ordered by `level`), or a fold."""

    name: str
    key: str
    partitions: int
    table: TableSpec | None = None
    level: int = 0


@dataclass(frozen=True)
class PlacedNode:
    """`keys` are the partition keys of the rows (empty if unknown); `level` is the number of successive table
    passes that must complete before."""

    node: Node
    placement: Placement
    keys: tuple[str, ...] = ()
    level: int = 0


class Planner(Protocol):
    """Places nodes and adds edges between stages."""

    @property
    def partitions(self) -> int: ...

    def place(self, node: Node) -> PlacedNode:
        """Where a node is computed. Equal nodes are placed once."""

    def is_local(self, child: PlacedNode, keys: tuple[str, ...]) -> bool:
        """Whether rows with equal keys are already in the same partition."""

    def depends(self, later: Placement, earlier: Placement) -> bool:
        """Whether `later` depends on the output of `earlier` (or is the same stage)."""

    def move(self, placed: PlacedNode) -> PlacedNode:
        """Moves rows to a new stage, which may receive inputs that depend on the old one."""

    def send(
        self,
        placed: PlacedNode,
        spread: Spread,
        keys: tuple[str, ...] = (),
        columns: tuple[str, ...] | None = None,
        merge: Mergeable | None = None,
    ) -> Receive:
        """Sends rows over an edge (default: all columns, with the position) and returns the receiving node."""


class Evaluation(Protocol):
    """Evaluates the nodes of one stage for one part or partition. Equal nodes are computed once."""

    @property
    def slice_cells(self) -> int:
        """The maximum size of a slice of an expanding node."""

    @property
    def in_order(self) -> bool:
        """Whether the order of the rows has a meaning, because an answer is in the order of its input."""

    def rows(self, node: Node) -> Late:
        """All rows of a node."""

    def frame(self, node: Node) -> pl.DataFrame:
        """All rows of a node, with its output columns."""

    def expands(self, node: Node) -> bool:
        """Whether a node has far more rows than its inputs."""

    def pieces(self, node: Node) -> Iterator[Late]:
        """A node's rows in order: in slices if it expands, otherwise in one piece."""

    def merged(
        self, child: Node, step: Callable[[Late], pl.DataFrame], merge: Callable[[pl.DataFrame], pl.DataFrame]
    ) -> Late:
        """Applies a step to each piece of a child and merges the results incrementally."""

    def build(self, node: Node, on: tuple[str, ...], nulls_equal: bool = False) -> Build:
        """The build side of a join with this node, prepared once."""

    def identity(self, node: Node) -> int:
        """A number that nodes with the same rows share within this stage."""

    def scan(self, used: frozenset[str]) -> Late:
        """The rows of the part without unreadable cells in these columns."""

    @property
    def may_choose_rows(self) -> bool:
        """Whether rows of the part may be chosen before all their columns are decoded: another pass over the table
        reports unreadable cells."""

    def scan_chosen(self, used: frozenset[str], keys: frozenset[str], choose: Callable[[Late], Rows]) -> Late | None:
        """As `scan`, of the rows that `choose` returns the indexes of, given rows of which it may only read the `keys`.
        They have no position. None if these are too many, or decoding fewer rows would not take less time."""

    def scan_identity(self, used: frozenset[str]) -> tuple[str | int, ...]:
        """The columns of these that have unreadable cells in the part: equal ones imply equal rows."""

    def received(self, edge: int) -> pl.DataFrame:
        """The complete input from an edge."""

    def streamed(self, edge: int) -> Iterator[pl.DataFrame] | None:
        """The input from an edge in pieces, if it is too large for the memory."""

    def is_dropped(self, edge: int) -> bool:
        """Whether the input from an edge was dropped, because it was too large and is not needed."""
