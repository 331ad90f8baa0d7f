"""docs/sql.md: its functions are those of the table, and its examples give the answers that it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cauce.job.result_formats import csv_text
from cauce.plan import Date, Decimal, Integer, Table, Text
from cauce.runner.sinks import prepare, run_in_memory
from cauce.sql_frontend.catalogue import catalogue_of
from cauce.sql_frontend.dataset import sql_dataset
from cauce.sql_frontend.functions.documentation import with_functions
from cauce.sql_frontend.problems import SqlError

DOCUMENT = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
FILES = re.findall(r"`(\w+\.csv)`:\n\n```csv\n(.*?)```", DOCUMENT, re.DOTALL)
EXAMPLES = re.findall(r"```sql\n(.*?)```\n\n```\n(.*?)```", DOCUMENT, re.DOTALL)
TABLES = (
    Table(
        "orders",
        "orders.csv",
        {"id": Integer(), "customer": Integer(), "item": Text(), "paid": Decimal(2), "day": Date()},
    ),
    Table("customers", "customers.csv", {"customer": Integer(), "name": Text(), "city": Text()}),
)


def test_functions_of_the_document_are_up_to_date() -> None:
    assert with_functions(DOCUMENT) == DOCUMENT, "run python -m cauce.sql_frontend.functions.documentation docs/sql.md"


def test_every_statement_has_an_answer() -> None:
    assert len(FILES) == 2
    assert len(EXAMPLES) == DOCUMENT.count("```sql") >= 9


@pytest.mark.parametrize(("text", "shown"), EXAMPLES)
def test_example_gives_the_answer_that_it_shows(tmp_path: Path, text: str, shown: str) -> None:
    for name, content in FILES:
        (tmp_path / name).write_text(content)
    assert _answer(tmp_path, text) == shown


def _answer(folder: Path, text: str) -> str:
    try:
        dataset = sql_dataset(text, catalogue_of(TABLES))
    except SqlError as problem:
        return f"{problem}\n"
    ((name, frame),) = run_in_memory(prepare(dataset, folder)).items()
    shown = [output.text(frame[column]).alias(column) for column, output in dataset.queries[name].columns.items()]
    return f"{','.join(frame.columns)}\n{csv_text(frame.select(shown))}"
