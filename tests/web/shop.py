"""Orders and customers, kept by a service as the dataset `shop`; the same rows for DuckDB."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import duckdb
import msgspec

from cauce.schema import ColumnSchema, DatasetSchema, TableSchema
from tests.service.running import Running

NAME = "shop"
ORDERS = (("id", "integer"), ("customer", "text"), ("day", "date"), ("paid", "decimal(18,2)"), ("Gift Wrap", "boolean"))
CUSTOMERS = (("name", "text"), ("country", "text"), ("latitude", "float"))
NAMES = ("ana", "eva", "leo", "zoë", "o'brien", "max", "ida")
COUNTRIES = ("Argentina", "España", "Uruguay", "Ireland")
ROWS = 600


def write_files(folder: Path) -> None:
    (folder / "orders.csv").write_text(_csv(ORDERS, [_order(number) for number in range(ROWS)]), encoding="utf-8")
    (folder / "customers.csv").write_text(_csv(CUSTOMERS, [_customer(n) for n in range(len(NAMES))]), encoding="utf-8")


def _order(number: int) -> tuple[str, ...]:
    day = date(2024, 1, 1) + timedelta(days=number * 7 % 366)
    paid = "" if number % 50 == 7 else f"{number * 37 % 9001 / 100:.2f}"
    return (
        str(number),
        NAMES[(number * 3 + number // 7) % len(NAMES)],
        day.isoformat(),
        paid,
        str(number % 3 == 0).lower(),
    )


def _customer(number: int) -> tuple[str, ...]:
    return NAMES[number], COUNTRIES[number % len(COUNTRIES)], str(number * 1.5)


def _csv(columns: tuple[tuple[str, str], ...], rows: list[tuple[str, ...]]) -> str:
    return "".join(",".join(each) + "\n" for each in [tuple(name for name, _ in columns), *rows])


def _schema() -> DatasetSchema:
    tables = {"orders": ORDERS, "customers": CUSTOMERS}
    return DatasetSchema(
        tuple(
            TableSchema(name, f"{name}.csv", tuple(ColumnSchema(*column) for column in columns))
            for name, columns in tables.items()
        )
    )


def keep(service: Running, folder: Path, name: str = NAME) -> None:
    """Uploads the files, each as one part."""
    path = f"/v1/datasets/{name}"
    assert service.send_json("PUT", path, {"schema": msgspec.to_builtins(_schema())}).status == 201
    for table in ("orders", "customers"):
        body = (folder / f"{table}.csv").read_bytes()
        put = service.ask("PUT", f"{path}/tables/{table}/parts/0", body, {"Content-Type": "text/csv"})
        assert put.status == 201, put.body
        assert service.send_json("POST", f"{path}/tables/{table}/complete", {"parts": 1}).status == 200


def oracle(folder: Path, sql: str) -> list[tuple[object, ...]]:
    """The answers of DuckDB."""
    connection = duckdb.connect()
    for table, columns in (("orders", ORDERS), ("customers", CUSTOMERS)):
        types = {name: "double" if kind == "float" else kind for name, kind in columns}
        connection.from_csv_auto(str(folder / f"{table}.csv"), dtype=types, header=True).create_view(table)
    return connection.execute(sql).fetchall()
