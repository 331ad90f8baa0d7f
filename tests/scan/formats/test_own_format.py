"""A format is one class and one entry of the table: here text of fixed widths, read and uploaded in whole jobs."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cauce.gateway.http.part_routes import part_of_headers
from cauce.gateway.jobs.part_validation import BodyCheck
from cauce.gateway.limits import ServiceLimits
from cauce.plan import INTEGER, TEXT, Decimal, Integer, Table, Text, agg, decimal
from cauce.runner.sinks import Answers, prepare, run_in_memory
from cauce.scan.cells.kinds import Kind
from cauce.scan.formats import table
from cauce.scan.formats.lines import Cells, LineFormat
from cauce.scan.parts import TableFile
from cauce.scan.reader import read_part
from cauce.scan.tables import TableSpec
from tests.plan.tiny import dataset_of

ORDERS = Table("orders", "orders.csv", {"id": Integer(), "name": Text(), "paid": Decimal()})

WIDTHS = {"id": (0, 4), "name": (4, 10), "paid": (10, 16)}


class FixedWidth(LineFormat):
    name = "fixed-width"
    endings = (".txt",)
    media_type = "text/x-fixed-width"
    reason = "not 16 characters"

    def header(self, file: TableFile, spec: TableSpec) -> tuple[str, ...]:
        return tuple(WIDTHS)

    def cells(self, line: bytes, kinds: Mapping[str, Kind], spec: TableSpec) -> Cells | None:
        text = line.decode("utf-8", "replace")
        if len(text) != 16:
            return None
        return {header: text[slice(*WIDTHS[header])].strip() for header in kinds}


LINES = """\
   1Ana    10.50
   2Beto    2.25
too short
   xCarla   1.00
   4Ana     0.50
"""


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    table.FORMATS.append(FixedWidth())
    yield
    table.FORMATS.pop()


def run(data: Path) -> Answers:
    paid = ORDERS.group_by("name").agg(paid=agg.sum("paid"), last=agg.max("id")).sort("name")
    columns = {"name": TEXT, "paid": decimal(2), "last": INTEGER}
    return run_in_memory(prepare(dataset_of(ORDERS, q=(paid, columns)), data))


@pytest.mark.parametrize("packed", [False, True])
def test_a_job_reads_its_files_with_rejects_by_line(tmp_path: Path, packed: bool) -> None:
    name = "orders.txt.gz" if packed else "orders.txt"
    (tmp_path / name).write_bytes(gzip.compress(LINES.encode()) if packed else LINES.encode())
    answers = run(tmp_path)
    rows = [(name, str(paid), last) for name, paid, last in answers["q"].rows()]
    assert rows == [("Ana", "11.00", 4), ("Beto", "2.25", 2)]
    assert answers.rejects.rows() == [
        (name, 3, None, "not 16 characters", "too short"),
        (name, 4, "id", "not an integer", "x"),
    ]


def test_a_gateway_accepts_its_uploads() -> None:
    head = part_of_headers({"content-type": "text/x-fixed-width", "content-encoding": "gzip"})
    columns = frozenset(ORDERS.spec.columns)
    part = BodyCheck(ORDERS.spec, columns, ServiceLimits()).part(0, replace(head, data=gzip.compress(LINES.encode())))
    block = read_part(part, ORDERS.spec, columns, lambda size: np.empty(size, np.uint8))
    assert block.column("name", None).to_list() == ["Ana", "Beto", "Carla", "Ana"]
    assert block.rejects(columns)["line"].to_list() == [3, 4]
