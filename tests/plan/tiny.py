"""Tiny datasets for tests: CSV files written by the test, queries given as relations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from cauce.plan import Dataset, Parameter, Relation, Table
from cauce.plan.dataset import Query
from cauce.plan.outputs import Output
from cauce.plan.physical import Plan
from cauce.runner.in_process import Settings
from cauce.runner.sinks import Answers, prepare, run_in_memory

Question = tuple[Relation, Mapping[str, Output]]


def dataset_of(*tables: Table, parameters: tuple[Parameter, ...] = (), **questions: Question) -> Dataset:
    """A dataset whose queries are these relations with their output columns."""
    dataset = Dataset("tiny", tables, parameters)
    for name, (relation, columns) in questions.items():
        dataset.queries[name] = Query(name, "", columns, _declaring(relation))
    return dataset


def _declaring(relation: Relation) -> Callable[[], Relation]:
    return lambda: relation


def plan_of(*tables: Table, partitions: int = 2, **questions: Question) -> Plan:
    return dataset_of(*tables, **questions).plan(partitions=partitions)


def write(folder: Path, **files: str) -> Path:
    """Files `<name>.csv` in a folder."""
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return folder


def run(folder: Path, *tables: Table, partitions: int = 3, part_bytes: int = 16, **questions: Question) -> Answers:
    """Answers over the files of a folder, read in parts of one or two rows, so that all states are merged."""
    prepared = prepare(dataset_of(*tables, **questions), folder, partitions=partitions)
    return run_in_memory(prepared, Settings(threads=2, part_bytes=part_bytes))


def ask(
    folder: Path, relation: Relation, *tables: Table, partitions: int = 3, **columns: Output
) -> list[tuple[object, ...]]:
    """The rows of one answer."""
    return run(folder, *tables, partitions=partitions, q=(relation, columns))["q"].rows()
