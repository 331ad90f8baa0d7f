"""Table declarations of a dataset: files, columns and format options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cauce.scan.cells.kinds import Kind, Text


@dataclass(frozen=True)
class Column:
    """A column of a table: its name in the file's header, and the kind of its cells.

    ``again``: another column reads the same cells as another kind and reports those that neither can read.
    ``nulls``: texts that, like no text, mark an empty cell of this column.
    """

    header: str
    kind: Kind = field(default_factory=Text)
    again: bool = False
    nulls: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class TableSpec:
    """All that is needed to find and read a table.

    `files` are patterns in order of preference: the first one that matches a file is used. A row with an empty cell
    in a `required` column is excluded from every query. `null` is a text that, like no text, marks an empty cell.
    A `small` table may be broadcast to every worker. A `quote` encloses cells of CSV (none if it is empty). Without a
    `header` line, the columns are called column0, column1, …. With `missing_is_null`, a column that a file lacks is
    null in its rows; otherwise the file is refused. `title` is the name that people know, where logs do not allow it
    as `name`.
    """

    name: str
    files: tuple[str, ...]
    columns: Mapping[str, Column]
    required: tuple[str, ...] = ()
    delimiter: str = ","
    null: str | None = None
    small: bool = False
    quote: str = '"'
    header: bool = True
    missing_is_null: bool = False
    title: str = field(default="", compare=False, repr=False)

    @property
    def shown(self) -> str:
        """Its name in messages."""
        return self.title or self.name

    @property
    def reading(self) -> str:
        """How cells are found and read, as a text that differs if rows could."""
        given = f"{self.name} {dict(self.columns)} {self.required} {self.delimiter} {self.null}"
        if (self.quote, self.header, self.missing_is_null) == ('"', True, False):
            return given
        return f"{given} {self.quote} {self.header} {self.missing_is_null}"
