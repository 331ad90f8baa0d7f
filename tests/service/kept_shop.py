"""A folder with orders and customers, and the answers of DuckDB over it."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path

import duckdb

QUESTIONS = {
    "spent": "SELECT country, count(*) AS n, sum(paid) AS spent FROM orders JOIN customers ON customer = name "
    "GROUP BY country ORDER BY country",
    "top": "SELECT id, customer, paid FROM orders ORDER BY paid DESC, id LIMIT 5",
    "days": "SELECT day, sum(paid) AS paid FROM orders GROUP BY day ORDER BY day",
    "absent": "SELECT name FROM customers WHERE name NOT IN (SELECT customer FROM orders) ORDER BY name",
}
NAMES = ("ana", "eva", "leo", "zoe", "max")
Rows = list[tuple[object, ...]]


def write_shop(folder: Path, rows: int = 2_000) -> None:
    (folder / "orders").mkdir(parents=True)
    for number, file in enumerate(("april", "may")):
        write_orders(folder / "orders" / f"{file}.csv", number, rows)
    countries = "".join(f"{name},{name[:2]}\n" for name in (*NAMES, "nil"))
    (folder / "customers.csv").write_text(f"name,country\n{countries}")


def write_orders(file: Path, seed: int, rows: int) -> None:
    chance = random.Random(seed)
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = (f"{seed * rows + i},{_order(chance)}\n" for i in range(rows))
    file.write_text("id,customer,paid,day\n" + "".join(lines))


def _order(chance: random.Random) -> str:
    paid = chance.randrange(10**6) / 100
    return f"{chance.choice(NAMES)},{paid:.2f},2026-0{chance.randint(1, 9)}-01"


def by_duckdb(*folders: Path) -> dict[str, Rows]:
    """The answers over the orders of all folders and the customers of the first."""
    files = [str(file) for folder in folders for file in sorted((folder / "orders").glob("*.csv"))]
    with duckdb.connect() as other:
        other.execute(f"CREATE TABLE customers AS FROM read_csv('{folders[0] / 'customers.csv'}')")
        other.execute(f"CREATE TABLE orders AS FROM read_csv({files}, types={{'paid': 'DECIMAL(18,2)'}})")
        return {name: _exact(other.execute(text).fetchall()) for name, text in QUESTIONS.items()}


def _exact(rows: Rows) -> Rows:
    return [tuple(Decimal(str(each)) if isinstance(each, float | Decimal) else each for each in row) for row in rows]
