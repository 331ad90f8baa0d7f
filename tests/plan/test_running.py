"""Small plans from files to answers: explode, sort, input order, concat, scalars, top-k, empty files."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from cauce.plan import (
    FLOAT,
    INTEGER,
    POSITION,
    TEXT,
    Integer,
    Table,
    Text,
    TextList,
    agg,
    desc,
    divide,
    ratio,
)
from tests.plan.tiny import ask, run, write

t = Table("t", "t.csv", {"k": Text(), "x": Integer(), "y": Integer()})
u = Table("u", "u.csv", {"k": Text(), "x": Integer(), "y": Integer()})
many = Table("t", "t_*.csv", {"k": Text(), "x": Integer(), "y": Integer()})
ROWS = "k,x,y\nb,3,1\na,2,\na,,5\nc,9,2\nb,4,4\n"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path, t=ROWS, u="k,x,y\nd,0,7\nb,1,8\n")


def test_an_empty_or_missing_list_explodes_to_nothing(tmp_path: Path) -> None:
    lists = Table("lists", "lists.csv", {"id": Integer(), "tag": TextList()})
    write(tmp_path, lists="id,tag\n1,\"['a', 'b']\"\n2,[]\n3,\n4,['a']\n")
    assert ask(tmp_path, lists.explode("tag").in_input_order(), lists, id=INTEGER, tag=TEXT) == [
        (1, "a"),
        (1, "b"),
        (4, "a"),
    ]
    tags = lists.explode("tag").group_by("tag").agg(n=agg.count()).sort("tag")
    assert ask(tmp_path, tags, lists, tag=TEXT, n=INTEGER) == [("a", 2), ("b", 1)]


def test_sorting_by_a_ratio_goes_by_the_exact_fraction(tmp_path: Path) -> None:
    big = 10**17
    write(tmp_path, t=f"k,x,y\na,{big},{big + 1}\nc,{big + 2},{big + 3}\nb,{big + 1},{big + 2}\n")
    ranked = t.group_by("k").agg(x=agg.sum("x"), y=agg.sum("y")).with_columns(q=divide("x", "y"))
    answer = ask(tmp_path, ranked.sort(desc(ratio("x", "y"))), t, k=TEXT, q=FLOAT)
    assert [k for k, _ in answer] == ["c", "b", "a"]
    assert len({q for _, q in answer}) == 1


def test_input_order_goes_over_files_in_name_order(tmp_path: Path) -> None:
    write(tmp_path, t_2="k,x,y\nc,3,\n", t_10="k,x,y\na,1,\nb,2,\n", t_3="k,x,y\nd,4,\n")
    assert ask(tmp_path, many.in_input_order(), many, x=INTEGER) == [(1,), (2,), (3,), (4,)]


def test_rows_keep_input_order_through_a_filter(data: Path) -> None:
    assert ask(data, t.filter(pl.col("x") > 2).in_input_order(), t, k=TEXT, x=INTEGER) == [("b", 3), ("c", 9), ("b", 4)]


def test_a_table_without_rows_has_an_answer_without_rows(tmp_path: Path) -> None:
    write(tmp_path, t="k,x,y\n")
    answers = run(
        tmp_path,
        t,
        rows=(t.in_input_order(), {"k": TEXT}),
        groups=(t.group_by("k").agg(n=agg.count()).sort("k"), {"k": TEXT, "n": INTEGER}),
        tops=(t.top_k(2, by="x", per="k").sort("k"), {"k": TEXT, "x": INTEGER}),
        all=(t.agg(n=agg.count(), x=agg.sum("x")), {"n": INTEGER, "x": INTEGER}),
    )
    assert {name: frame.rows() for name, frame in answers.items()} == {
        "rows": [],
        "groups": [],
        "tops": [],
        "all": [(0, 0)],
    }


def test_a_file_without_rows_among_others_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path, t_1="k,x,y\na,1,\n", t_2="k,x,y\n", t_3="k,x,y\nb,2,\n")
    assert ask(tmp_path, many.in_input_order(), many, k=TEXT) == [("a",), ("b",)]
    assert ask(tmp_path, many.agg(n=agg.count()), many, n=INTEGER) == [(2,)]


def test_a_global_aggregate_is_an_answer_and_a_scalar_at_once(data: Path) -> None:
    means = t.agg(s=agg.sum("x"), n=agg.count("x"))
    answers = run(
        data,
        t,
        means=(means, {"s": INTEGER, "n": INTEGER}),
        above=(t.with_scalars(means).filter(pl.col("x") * pl.col("n") > pl.col("s")), {"k": TEXT}),
    )
    assert answers["means"].rows() == [(18, 4)]
    assert answers["above"].rows() == [("c",)]


def test_a_top_k_is_an_answer_and_a_broadcast_side_at_once(data: Path) -> None:
    best = t.group_by("k").agg(s=agg.sum("x")).top_k(1, by=desc("s"))
    answers = run(
        data,
        t,
        u,
        best=(best, {"k": TEXT, "s": INTEGER}),
        of_best=(t.join(best.select("k"), on="k", how="semi").in_input_order(), {"x": INTEGER}),
    )
    assert answers["best"].rows() == [("c", 9)]
    assert answers["of_best"].rows() == [(9,)]


def test_two_queries_of_one_top_k_show_different_columns(data: Path) -> None:
    best = t.top_k(2, by=desc("x"))
    answers = run(data, t, ks=(best.sort("k"), {"k": TEXT}), ys=(best.sort("y"), {"y": INTEGER}))
    assert answers["ks"].rows() == [("b",), ("c",)]
    assert answers["ys"].rows() == [(2,), (4,)]


def test_two_queries_of_one_concat_show_different_columns(data: Path) -> None:
    both = t.filter(pl.col("x") > 3).concat(t.filter(pl.col("y") > 4))
    answers = run(data, t, ks=(both.sort("k"), {"k": TEXT}), ys=(both.sort("y"), {"y": INTEGER}))
    assert answers["ks"].rows() == [("a",), ("b",), ("c",)]
    assert answers["ys"].rows() == [(2,), (4,), (5,)]


def test_the_sides_of_a_concat_may_be_filtered_by_different_columns(data: Path) -> None:
    both = t.filter(pl.col("x") > 3).concat(u.filter(pl.col("y") > 7)).group_by("k").agg(n=agg.count()).sort("k")
    assert ask(data, both, t, u, k=TEXT, n=INTEGER) == [("b", 2), ("c", 1)]


def test_the_rows_of_a_concat_can_be_counted(data: Path) -> None:
    assert ask(data, t.concat(u).agg(n=agg.count()), t, u, n=INTEGER) == [(7,)]


def test_top_k_by_input_position(data: Path) -> None:
    firsts = t.top_k(1, by=POSITION, per="k").sort("k")
    assert ask(data, firsts, t, k=TEXT, x=INTEGER) == [("a", 2), ("b", 3), ("c", 9)]


def test_rows_that_are_only_counted_still_report_their_broken_records(tmp_path: Path) -> None:
    write(tmp_path, t="k,x,y\na,1\nb,2,3\n")
    answers = run(tmp_path, t, q=(t.agg(n=agg.count()), {"n": INTEGER}))
    assert answers["q"].rows() == [(1,)]
    assert answers.rejects.rows() == [("t.csv", 2, None, "expected 3 cells, found 2", "a,1")]


def test_an_unreadable_cell_excludes_its_row_only_from_queries_that_use_it(tmp_path: Path) -> None:
    write(tmp_path, t="k,x,y\na,one,1\nb,2,two\nc,3,3\n")
    answers = run(
        tmp_path,
        t,
        xs=(t.filter(pl.col("x") > 0).in_input_order(), {"k": TEXT}),
        ys=(t.filter(pl.col("y") > 0).in_input_order(), {"k": TEXT}),
        ks=(t.in_input_order(), {"k": TEXT}),
    )
    assert [frame["k"].to_list() for frame in answers.values()] == [["b", "c"], ["a", "c"], ["a", "b", "c"]]
    assert answers.rejects.select("line", "column", "raw").rows() == [(2, "x", "one"), (3, "y", "two")]


def test_a_table_read_in_two_passes_reports_a_reject_once(tmp_path: Path) -> None:
    write(tmp_path, t="k,x,y\na,one,1\nb,2,2\n")
    means = t.agg(s=agg.sum("x"), n=agg.count("x"))
    above = t.with_scalars(means).filter(pl.col("x") * pl.col("n") >= pl.col("s"))
    answers = run(tmp_path, t, q=(above, {"k": TEXT}))
    assert answers["q"].rows() == [("b",)]
    assert answers.rejects.height == 1
