"""Tables as a dataset declares them: their files, columns and reading rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cauce.scan.kinds import Kind, Text


@dataclass(frozen=True)
class Column:
    """A column of a table: its name in the file's header, and the kind of its cells.

    ``again``: another column reads the same cells, in another form; a cell that neither can read is reported there.
    """

    header: str
    kind: Kind = field(default_factory=Text)
    again: bool = False


@dataclass(frozen=True, eq=False)
class TableSpec:
    """What is needed to find and read a table.

    `files` are alternatives in order of preference: the first pattern that matches anything counts.
    A row with an empty cell in a `required` column takes part in no query. `null` is a text that means
    an empty cell, beside the empty cell itself. A `small` table may be sent whole to every worker.
    """

    name: str
    files: tuple[str, ...]
    columns: Mapping[str, Column]
    required: tuple[str, ...] = ()
    delimiter: str = ","
    null: str | None = None
    small: bool = False
