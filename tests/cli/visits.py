"""A small dataset that programs declare themselves, its files, and its answer as plain Python computes it."""

from __future__ import annotations

from pathlib import Path

DECLARATION = '''
import polars as pl
from cauce.plan import INTEGER, Dataset, Integer, Relation, Table, agg

visits = Table("visits", "visits.csv", {"customer": Integer(), "paid": Integer()})
dataset = Dataset("visits", (visits,))


@dataset.query(customer=INTEGER, n=INTEGER, paid=INTEGER)
def regulars() -> Relation:
    """Visits of each customer"""
    return visits.group_by("customer").agg(n=agg.count(), paid=agg.sum("paid")).sort("customer")


@dataset.query(n=INTEGER)
def visitors() -> Relation:
    """All visits"""
    return visits.agg(n=agg.count())
'''
LARGE = 6000
"""So many repetitions make a file for which `cauce.run` starts worker processes."""

_ROWS = [(number % 7, number) for number in range(1000)]


def write_visits(folder: Path, repeated: int = 1) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    rows = "".join(f"{customer},{paid}\n" for customer, paid in _ROWS)
    (folder / "visits.csv").write_text("customer,paid\n" + rows * repeated)
    return folder


def expected_regulars(repeated: int = 1) -> list[tuple[int, int, int]]:
    paid = {customer: [each for other, each in _ROWS if other == customer] for customer, _ in _ROWS}
    return sorted((customer, repeated * len(all_paid), repeated * sum(all_paid)) for customer, all_paid in paid.items())
