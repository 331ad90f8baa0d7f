"""A second pass over a table reads only the lines of the keys that it looks up, and finds the same rows."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from cauce.fabric.names import Log
from cauce.fabric.records import Record
from cauce.plan import INTEGER, TEXT, Dataset, Integer, Relation, Table, Text, agg
from cauce.runner.in_process import LocalRun, Settings
from cauce.runner.sinks import Memory, Silent, prepare
from cauce.scan.row_index import RowIndex
from cauce.worker.tasks import indexed_parts
from cauce.worker.tasks.task import Task

sales = Table("sales", "sales.csv", {"item": Integer(), "shop": Text(), "sold": Integer()})
dataset = Dataset("rare-items", (sales,))


@dataset.query(item=INTEGER, shop=TEXT, sold=INTEGER)
def rare() -> Relation:
    """Sales of items that were sold at most twice"""
    counts = sales.group_by("item").agg(times=agg.count()).filter(pl.col("times") <= 2)
    return sales.join(counts.select("item"), on="item", strategy="broadcast").sort("item", "shop", "sold")


Row = tuple[int | str, str, int]


def rows_of(many: int) -> list[Row]:
    chosen = random.Random(7)
    shops = ["plain", 'with "quotes"', "two\nlines", "comma, and \u00e9"]
    often: list[Row] = [(chosen.randrange(40), chosen.choice(shops), chosen.randrange(9)) for _ in range(many)]
    seldom: list[Row] = [(1_000 + each // 2, chosen.choice(shops), each) for each in range(many // 20)]
    return chosen.sample(often + seldom, many + many // 20)


def write(folder: Path, rows: list[Row], faulty: str = "") -> None:
    lines = ["item,shop,sold\r\n"]
    for number, (item, shop, sold) in enumerate(rows):
        lines.append('{},"{}",{}\r\n'.format(item, shop.replace('"', '""'), sold))
        lines.append(faulty if number % 50 == 0 else "")
    (folder / "sales.csv").write_text("".join(lines), newline="")


def answer(data: Path, work: Path | None) -> list[tuple[object, ...]]:
    prepared = prepare(dataset, data)
    sink = Memory()
    LocalRun(prepared.plan, prepared.files, sink, Silent(), Settings(2, 4_000, work)).run()
    return sink.answers(prepared.plan)["rare"].rows()


def expected(rows: list[Row]) -> list[Row]:
    times = Counter(item for item, _, _ in rows if isinstance(item, int))
    return sorted(row for row in rows if 0 < times[row[0]] <= 2)  # type: ignore[index]


@pytest.fixture
def by_lines(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of lines of each part that was read by lines."""
    found: list[int] = []
    read = indexed_parts.read_lines

    def counted(*arguments: object) -> object:
        found.append(len(arguments[-1].start))  # type: ignore[attr-defined]
        return read(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(indexed_parts, "read_lines", counted)
    return found


def test_only_lines_with_wanted_keys_are_read(tmp_path: Path, by_lines: list[int]) -> None:
    rows = rows_of(2_000)
    write(tmp_path, rows)
    assert answer(tmp_path, tmp_path / "work") == expected(rows)
    assert len(by_lines) > 5
    assert sum(by_lines) == len(expected(rows)) == 100


def test_records_of_parts_are_the_same_with_and_without_an_index(
    tmp_path: Path, by_lines: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part that is repeated after a crash may find an index that it did not find before, or the other way round."""
    write(tmp_path, rows_of(2_000))
    sent: set[tuple[Log, Record]] = set()
    emit = Task.emit

    def remembered(task: Task, log: Log, output: Record) -> None:
        sent.add((log, output.whole()))
        emit(task, log, output)

    monkeypatch.setattr(Task, "emit", remembered)
    answer(tmp_path, tmp_path / "work")
    with_indexes = sent.copy()
    assert by_lines
    sent.clear()
    answer(tmp_path, None)
    assert sent == with_indexes


def test_without_temporary_files_parts_are_read_as_a_whole(tmp_path: Path, by_lines: list[int]) -> None:
    rows = rows_of(500)
    write(tmp_path, rows)
    assert answer(tmp_path, None) == expected(rows)
    assert by_lines == []


@pytest.mark.parametrize("faulty", ["7\r\n", '7,"never closed,1\r\n', ",shop,1\r\n", "seven,shop,1\r\n"])
def test_parts_with_rejected_rows_are_read_as_a_whole(tmp_path: Path, by_lines: list[int], faulty: str) -> None:
    rows = rows_of(500)
    write(tmp_path, rows, faulty)
    assert answer(tmp_path, tmp_path / "work") == answer(tmp_path, None)
    assert by_lines == []


def test_a_lost_index_changes_no_answer(tmp_path: Path, by_lines: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(500)
    write(tmp_path, rows)
    load, calls = RowIndex.load, Counter[str]()

    def lost_at_times(path: Path) -> RowIndex | None:
        calls[path.name] += 1
        return None if path.name.endswith(("0", "2")) else load(path)

    monkeypatch.setattr(RowIndex, "load", staticmethod(lost_at_times))
    assert answer(tmp_path, tmp_path / "work") == expected(rows)
    assert 0 < len(by_lines) < len(calls)


def test_a_pass_that_uses_other_rows_too_reads_whole_parts(tmp_path: Path, by_lines: list[int]) -> None:
    both = Dataset("both", (sales,), queries=dict(dataset.queries))

    @both.query(shop=TEXT, most=INTEGER)
    def largest() -> Relation:
        """A left join keeps all rows"""
        counts = sales.group_by("item").agg(times=agg.count())
        found = sales.join(counts, on="item", how="left", strategy="broadcast")
        return found.group_by("shop").agg(most=agg.max("times")).sort("shop")

    rows = rows_of(500)
    write(tmp_path, rows)
    prepared = prepare(both, tmp_path)
    sink = Memory()
    LocalRun(prepared.plan, prepared.files, sink, Silent(), Settings(2, 4_000, tmp_path / "work")).run()
    assert sink.answers(prepared.plan)["rare"].rows() == expected(rows)
    assert by_lines == []
