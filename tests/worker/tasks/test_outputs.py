"""Pages of an answer: cut by rows and by bytes, the same however the rows arrive."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from cauce.fabric.names import Log
from cauce.fabric.records import Kind, Record
from cauce.job.frames import load_frame
from cauce.operators.weight import weigh
from cauce.worker.tasks.limits import Limits
from cauce.worker.tasks.outputs import PageOutput, rows_within

WIDE = pl.DataFrame({"k": range(60), "all": [[number] * (number * 7 % 50) for number in range(60)]})


def pages_of(frame: pl.DataFrame, step: int, page_rows: int, page_bytes: int) -> list[pl.DataFrame]:
    """The pages of rows that are added `step` at a time."""
    sent: list[Record] = []
    confirmed: list[int] = []
    limits = Limits(page_rows=page_rows, page_bytes=page_bytes)
    task = SimpleNamespace(
        context=SimpleNamespace(limits=limits),
        spec=SimpleNamespace(number=1),
        emit=lambda log, output: sent.append(output),
        flush=lambda: confirmed.append(len(sent)),
    )
    output = PageOutput(task, Log("result"))  # type: ignore[arg-type]
    for start in range(0, max(frame.height, 1), step):
        output.add(frame.slice(start, step))
    output.end()
    assert sent[-1].kind == Kind.END
    assert sent[-1].seq == len(sent) - 1
    # A reader relies on it: the number of pages is sent after all pages are confirmed.
    assert confirmed == [len(sent) - 1]
    return [load_frame(each.body) for each in sent[:-1]]


@pytest.mark.parametrize("step", [1, 7, 60])
def test_pages_of_small_rows_have_the_wanted_number(step: int) -> None:
    pages = pages_of(WIDE, step, 25, 1 << 20)
    assert [page.height for page in pages] == [25, 25, 10]
    assert_frame_equal(pl.concat(pages), WIDE)


def test_a_page_of_large_rows_has_fewer() -> None:
    pages = pages_of(WIDE, 60, 25, 1_000)
    assert_frame_equal(pl.concat(pages), WIDE)
    assert all(weigh(page) <= 1_000 for page in pages)
    assert len(pages) > 5


@pytest.mark.parametrize("page_bytes", [1, 300, 1_000, 5_000])
def test_pages_do_not_depend_on_how_the_rows_arrive(page_bytes: int) -> None:
    at_once = pages_of(WIDE, 60, 25, page_bytes)
    for step in (1, 7, 30):
        for one, other in zip(pages_of(WIDE, step, 25, page_bytes), at_once, strict=True):
            assert_frame_equal(one, other)


def test_an_answer_without_rows_has_one_page() -> None:
    assert [page.height for page in pages_of(WIDE.clear(), 1, 25, 100)] == [0]


def test_a_row_is_never_divided() -> None:
    assert rows_within(WIDE, 1) == 1
    assert rows_within(WIDE, 1 << 30) == 60
