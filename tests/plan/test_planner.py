"""Plans: shared scans, sub-plans and edges; queries that cannot be planned; the digest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from cauce.datasets import BUILT_IN, load
from cauce.errors import PlanError
from cauce.plan import (
    INTEGER,
    TEXT,
    Dataset,
    Integer,
    Parameter,
    Relation,
    Table,
    Text,
    agg,
    desc,
)
from cauce.plan.physical import Plan, Stage
from tests.plan.tiny import ask, plan_of, run, write

t = Table("t", "t.csv", {"k": Text(), "m": Text(), "x": Integer()})
u = Table("u", "u.csv", {"k": Text(), "y": Integer()})
small = Table("small", "small.csv", {"k": Text(), "z": Integer()}, small=True)


def scans(plan: Plan, table: str) -> list[Stage]:
    return [stage for stage in plan.stages if stage.table is not None and stage.table.name == table]


def shuffles(plan: Plan) -> int:
    return sum(edge.spread == "hash" for edge in plan.edges.values())


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_dataset_reads_each_table_once_for_all_its_queries(name: str) -> None:
    plan = load(name).plan()
    read = [stage.table.name for stage in plan.stages if stage.table is not None]
    assert len(read) == len(set(read))
    assert set(read) <= {table.spec.name for table in load(name).tables}


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_query_of_a_built_in_dataset_has_its_answer(name: str) -> None:
    dataset = load(name)
    assert list(dataset.plan().results) == list(dataset.queries)


def test_equal_sub_plans_are_computed_once() -> None:
    def sums() -> Relation:
        return t.filter(pl.col("x") > 0).group_by("k").agg(s=agg.sum("x"))

    plan = plan_of(t, a=(sums().sort("k"), {"k": TEXT, "s": INTEGER}), b=(sums().top_k(3, by=desc("s")), {"k": TEXT}))
    assert shuffles(plan) == 1
    assert [stage.name for stage in plan.stages].count("group by k") == 1


def test_different_parameters_are_not_one_sub_plan() -> None:
    plan = plan_of(
        t,
        a=(t.filter(pl.col("x") > 0).group_by("k").agg(n=agg.count()), {"n": INTEGER}),
        b=(t.filter(pl.col("x") > 1).group_by("k").agg(n=agg.count()), {"n": INTEGER}),
    )
    assert shuffles(plan) == 2
    assert len(scans(plan, "t")) == 1


ABOVE_MEAN = (
    t.with_scalars(t.agg(s=agg.sum("x"), n=agg.count("x")))
    .filter(pl.col("x") * pl.col("n") > pl.col("s"))
    .in_input_order()
)


def test_a_filter_on_a_scalar_of_the_same_table_makes_two_passes() -> None:
    plan = plan_of(t, q=(ABOVE_MEAN, {"k": TEXT}))
    assert len(scans(plan, "t")) == 2


def test_a_filter_on_a_scalar_of_the_same_table_gives_the_right_answer(tmp_path: Path) -> None:
    write(tmp_path, t="k,m,x\na,,1\nb,,2\nc,,6\nd,,\n")
    assert ask(tmp_path, ABOVE_MEAN, t, k=TEXT) == [("c",)]


EACH_OTHER = {
    "ts": (t.join(u, on="k", how="semi", strategy="broadcast").in_input_order(), {"k": TEXT, "x": INTEGER}),
    "us": (u.join(t, on="k", how="semi", strategy="broadcast").in_input_order(), {"k": TEXT, "y": INTEGER}),
}


def test_two_tables_that_semi_join_each_other_make_no_cycle(tmp_path: Path) -> None:
    write(tmp_path, t="k,m,x\na,,1\nb,,2\na,,3\n", u="k,y\nc,1\na,2\n")
    answers = run(tmp_path, t, u, **EACH_OTHER)
    assert answers["ts"].rows() == [("a", 1), ("a", 3)]
    assert answers["us"].rows() == [("a", 2)]


def test_two_tables_that_semi_join_each_other_need_three_passes() -> None:
    plan = plan_of(t, u, **EACH_OTHER)
    assert len(scans(plan, "t")) + len(scans(plan, "u")) == 3


def test_aggregates_by_value_of_one_column_make_no_cycle() -> None:
    both = t.group_by("k").agg(n=agg.count(), different=agg.n_unique("m"), most=agg.mode_count("m"))
    assert plan_of(t, q=(both, {"k": TEXT})).results


def test_a_small_side_is_broadcast_and_the_large_side_stays() -> None:
    plan = plan_of(t, small, q=(t.join(small, on="k").in_input_order(), {"k": TEXT, "z": INTEGER}))
    assert sorted(edge.spread for edge in plan.edges.values()) == ["broadcast", "ordered"]


def test_two_large_sides_are_partitioned_by_their_key() -> None:
    plan = plan_of(t, u, q=(t.join(u, on="k"), {"k": TEXT, "y": INTEGER}))
    hashed = [edge for edge in plan.edges.values() if edge.spread == "hash"]
    assert [edge.keys for edge in hashed] == [("k",), ("k",)]


def test_a_group_by_that_feeds_a_coarser_one_needs_no_second_shuffle() -> None:
    fine = t.group_by("k", "m").agg(n=agg.count())
    plan = plan_of(t, q=(fine.group_by("k").agg(ms=agg.count(), rows=agg.sum("n")), {"k": TEXT}))
    assert [edge.keys for edge in plan.edges.values() if edge.spread == "hash"] == [("k",)]


def test_a_group_by_of_other_keys_needs_a_second_shuffle() -> None:
    plan = plan_of(t, q=(t.group_by("k").agg(n=agg.count()).group_by("n").agg(ks=agg.count()), {"n": INTEGER}))
    assert [edge.keys for edge in plan.edges.values() if edge.spread == "hash"] == [("k",), ("n",)]


def test_a_top_k_of_each_key_is_cut_where_its_group_by_is_and_then_shuffled() -> None:
    """Its keys may be few: groups are partitioned by all their keys, and only the top of each partition is sent."""
    best = t.group_by("k", "m").agg(n=agg.count()).top_k(1, by=desc("n"), per="k")
    plan = plan_of(t, q=(best, {"k": TEXT, "m": TEXT}))
    hashed = [edge for edge in plan.edges.values() if edge.spread == "hash"]
    assert [edge.keys for edge in hashed] == [("k", "m"), ("k",)]
    assert type(hashed[1].node).__name__ == "TopK"


def test_rows_are_combined_before_they_are_sent() -> None:
    plan = plan_of(t, q=(t.group_by("k").agg(n=agg.count()), {"k": TEXT}))
    (sent,) = scans(plan, "t")[0].sends
    assert type(sent.node).__name__ == "Partial"
    assert sent.merge is not None


def test_input_order_is_streamed_if_rows_come_directly_from_the_table() -> None:
    plan = plan_of(t, q=(t.filter(pl.col("x") > 0).in_input_order(), {"k": TEXT}))
    assert plan.results["q"].ordered


def test_input_order_after_a_partitioned_join_is_a_sort() -> None:
    plan = plan_of(t, u, q=(t.join(u, on="k").in_input_order(), {"k": TEXT}))
    assert not plan.results["q"].ordered


def test_the_first_pass_over_a_table_reports_all_unreadable_cells() -> None:
    plan = plan_of(t, q=(ABOVE_MEAN, {"k": TEXT}))
    first, second = scans(plan, "t")
    assert first.report_rejects == {"k", "x"}
    assert second.report_rejects is None


def test_every_stage_comes_after_those_it_reads_from() -> None:
    for name in BUILT_IN:
        sent: set[int] = set()
        for stage in load(name).plan().stages:
            assert set(stage.receives) <= sent
            sent |= {edge.number for edge in stage.sends}


def test_a_sort_before_the_end_is_refused() -> None:
    with pytest.raises(PlanError, match="sort may only be the last step"):
        plan_of(t, q=(t.sort("k").filter(pl.col("x") > 0), {"k": TEXT}))


# The digest.

DIGESTS = "from cauce.datasets import BUILT_IN, load\nfor name in BUILT_IN: print(load(name).plan().digest)"
EACH_OTHER_DIGEST = (
    "from tests.plan.test_planner import EACH_OTHER, plan_of, t, u\nprint(plan_of(t, u, **EACH_OTHER).digest)"
)


def in_another_process(code: str, seed: str) -> list[str]:
    """The digest in a process with another order of sets and another order of imports."""
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_the_digest_is_the_same_in_every_process() -> None:
    assert in_another_process(DIGESTS, "1") == [load(name).plan().digest for name in BUILT_IN]


@pytest.mark.parametrize("seed", ["1", *(pytest.param(each, marks=pytest.mark.slow) for each in "23")])
def test_the_digest_does_not_depend_on_the_order_of_sets(seed: str) -> None:
    assert in_another_process(EACH_OTHER_DIGEST, seed) == [plan_of(t, u, **EACH_OTHER).digest]


def digest(dataset: Dataset, **chosen: str) -> str:
    return dataset.plan(parameters=chosen).digest


def declared(limit: int, source: Path | None = None) -> Dataset:
    dataset = Dataset("d", (t,), (Parameter("kind", ("a", "b")),), source)

    @dataset.query(k=TEXT)
    def q() -> Relation:
        """?"""
        return t.filter(pl.col("x") > limit)

    return dataset


def test_the_digest_of_the_same_declaration_is_the_same() -> None:
    assert digest(declared(1)) == digest(declared(1))


def test_the_digest_changes_with_a_query() -> None:
    assert digest(declared(1)) != digest(declared(2))


def test_the_digest_changes_with_a_parameter() -> None:
    assert digest(declared(1), kind="a") != digest(declared(1), kind="b")


def test_the_digest_changes_with_the_number_of_partitions() -> None:
    assert declared(1).plan(partitions=2).digest != declared(1).plan(partitions=3).digest


def test_the_digest_changes_with_the_file_that_declares_the_dataset(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one")
    (tmp_path / "b.py").write_text("two")
    assert digest(declared(1, tmp_path / "a.py")) != digest(declared(1, tmp_path / "b.py"))
