"""Synthetic files in the format of the four public datasets, with their proportions and their quirks.

The same (dataset, scale, seed) gives the same bytes everywhere; nothing here reads the clock or the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from cauce.errors import UsageError, unknown
from cauce.lab.generators import books, coffee, flights, movies
from cauce.lab.generators.writer import Table, write_file

__all__ = ["DATASETS", "generate"]

_TABLES: dict[str, Callable[[float, int], tuple[Table, ...]]] = {
    "books": books.tables,
    "movies": movies.tables,
    "flights": flights.tables,
    "coffee": coffee.tables,
}
DATASETS = tuple(_TABLES)


def generate(
    dataset: str,
    out: Path,
    *,
    scale: float = 1.0,
    seed: int = 0,
    only: Collection[str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> dict[str, int]:
    """Write the files of a dataset under `out` and return the bytes of each; scale 1 is the real size.

    `only` limits the work to some tables; `progress` is called with the bytes written since its last call.
    """
    if dataset not in _TABLES:
        raise unknown("dataset", dataset, DATASETS)
    if not 0 < scale < float("inf") or seed < 0:
        raise UsageError(f"scale must be above 0 and seed not below 0; got scale {scale} and seed {seed}")
    tables = _TABLES[dataset](scale, seed)
    names = [table.name for table in tables]
    for name in only or ():
        if name not in names:
            raise unknown(f"table of {dataset}", name, names)
    return {
        file: write_file(out / file, blocks(), progress)
        for table in tables
        if only is None or table.name in only
        for file, blocks in table.files
    }
