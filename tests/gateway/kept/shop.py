"""A small kept dataset: orders and customers, in parts."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field

from cauce.api.jobs import JobStatus
from cauce.api.sql import SqlRequest
from cauce.gateway.model import PartBody
from cauce.gateway.service import Service
from cauce.job.kept_messages import KeepRequest
from cauce.schema import ColumnSchema, DatasetSchema, TableSchema
from cauce.worker.loop import Worker
from tests.gateway.serving import OWNER, answers, run_to_end

SCHEMA = DatasetSchema(
    (
        TableSchema(
            "orders",
            "orders/",
            (ColumnSchema("id", "integer"), ColumnSchema("customer", "text"), ColumnSchema("paid", "decimal(18,2)")),
        ),
        TableSchema("customers", "customers.csv", (ColumnSchema("name", "text"), ColumnSchema("country", "text"))),
    )
)
REQUEST = KeepRequest(SCHEMA)

Orders = list[tuple[int, str, str]]


@dataclass
class Shop:
    """Rows by part, and the bodies of the parts."""

    orders: list[Orders] = field(default_factory=lambda: [order_part(0), order_part(1), order_part(2)])
    customers: tuple[tuple[str, str], ...] = (("ana", "ar"), ("eva", "es"), ("leo", "uy"))

    def more(self) -> None:
        self.orders.append(order_part(len(self.orders)))

    def body(self, part: int) -> PartBody:
        return body_of(("id", "customer", "paid"), self.orders[part], f"orders-{part}.csv")

    @property
    def customers_body(self) -> PartBody:
        return body_of(("name", "country"), self.customers, "customers.csv")

    def spent(self, parts: int) -> dict[str, bytes]:
        """The answer of SPENT over the first parts of the orders, by plain Python."""
        sums: dict[str, int] = {}
        for part in self.orders[:parts]:
            for _, customer, paid in part:
                country = dict(self.customers)[customer]
                sums[country] = sums.get(country, 0) + round(float(paid) * 100)
        lines = [f"{country},{cents / 100:.2f}\n" for country, cents in sorted(sums.items())]
        return {"q1": "".join(["country,spent\n", *lines]).encode()}


SPENT = "SELECT country, sum(paid) AS spent FROM orders JOIN customers ON customer = name GROUP BY country ORDER BY 1"


def order_part(number: int) -> Orders:
    names = ("ana", "eva", "leo")
    return [(10 * number + i, names[(number + i) % 3], f"{number * 7 + i}.{i:02d}") for i in range(10)]


def body_of(header: tuple[str, ...], rows: object, file: str) -> PartBody:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)  # type: ignore[arg-type]
    return PartBody(text.getvalue().encode(), "csv", "", file, 2, header)


def keep(service: Service, shop: Shop, name: str = "shop", owner: str = OWNER, request: KeepRequest = REQUEST) -> None:
    """Creates the dataset, or adds the parts that it lacks."""
    service.kept.create(owner, name, request)
    for number in range(len(shop.orders)):
        service.kept.put_part(owner, name, "orders", number, shop.body(number))
    service.kept.put_part(owner, name, "customers", 0, shop.customers_body)
    service.kept.complete(owner, name, "orders", len(shop.orders))
    service.kept.complete(owner, name, "customers", 1)


def start(service: Service, job: str, sql: str = SPENT, owner: str = OWNER) -> JobStatus:
    status, created = service.kept_jobs.sql(owner, SqlRequest(sql, "shop", job))
    assert created
    return status


def finish(service: Service, worker: Worker, job: str, owner: str = OWNER) -> dict[str, bytes]:
    status = run_to_end(service.jobs, worker, job, owner)
    assert status.state == "done", status
    return answers(service.jobs, job, owner)
