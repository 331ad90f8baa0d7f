"""Quantiles from sorted temporary files: the same bits as from a list in memory."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest

from cauce.operators.aggregates import Collect, Count, Quantile, QuantileDisc, final, partial
from cauce.operators.aggregates.base import Aggregate
from cauce.plan.nodes import Final, Receive
from cauce.plan.physical import Edge
from cauce.worker.memory.ranges import EdgeRange, NamedFrame
from cauce.worker.memory.ranked_state import ranked_state
from cauce.worker.memory.spill import MemorySpill

SMALL = 4_000
SHAPES = {
    "ordinary": [random.Random(1).uniform(-5, 5) for _ in range(4_000)],
    "few values": [random.Random(2).choice([1.5, -2.0, 0.0]) for _ in range(4_000)],
    "extremes": [random.Random(3).choice([1.7e308, -1.7e308]) for _ in range(4_000)],
    "with NaN": [math.nan, *(random.Random(4).uniform(0, 1) for _ in range(3_999))],
    "infinite": [math.inf, -math.inf, *(random.Random(5).uniform(0, 1) for _ in range(3_998))],
}


def found(aggregates: dict[str, Aggregate], values: list[float], keys: int = 1) -> EdgeRange:
    """Values in batches of 500, under one key or several."""

    def read() -> Iterator[NamedFrame]:
        for number, start in enumerate(range(0, max(len(values), 1), 500)):
            batch = values[start : start + 500]
            frame = pl.DataFrame(
                {"k": [row % keys for row in range(len(batch))], "v": pl.Series(batch, dtype=pl.Float64)}
            )
            yield (number, 0), partial(frame, ["k"], aggregates)

    merge = Final(Receive(0, ("k",)), ("k",), aggregates)
    return EdgeRange(Edge(0, "hash", ("k",), merge.child, merge), read)


@pytest.mark.parametrize("q", [0.0, 0.1, 0.5, 0.999, 1.0])
@pytest.mark.parametrize("name", SHAPES)
def test_result_is_that_of_numpy(name: str, q: float) -> None:
    values = SHAPES[name]
    aggregates = {"cont": Quantile("v", q), "disc": QuantileDisc("v", q), "n": Count()}
    state = ranked_state(MemorySpill(), found(aggregates, values), "s", SMALL)
    assert state is not None
    assert state["cont"].list.len().to_list() == [3]
    result = final(state, ["k"], aggregates).row(0, named=True)
    assert result["n"] == len(values)
    if name != "with NaN":
        assert result["disc"] == np.quantile(values, q, method="inverted_cdf")
    if name == "extremes":
        assert math.isfinite(result["cont"])
    elif name != "infinite":
        assert np.array_equal(result["cont"], np.quantile(values, q), equal_nan=True)
    held = final(partial(pl.DataFrame({"k": [0] * len(values), "v": values}), ["k"], aggregates), ["k"], aggregates)
    assert held.equals(final(state, ["k"], aggregates), null_equal=True)


def test_a_list_of_values_cannot_be_trimmed() -> None:
    assert ranked_state(MemorySpill(), found({"all": Collect("v")}, SHAPES["ordinary"]), "s", SMALL) is None


def test_other_states_may_exceed_the_memory() -> None:
    aggregates = {"m": Quantile("v"), "all": Collect("v")}
    assert ranked_state(MemorySpill(), found(aggregates, SHAPES["ordinary"]), "s", SMALL) is None


def test_several_groups_are_not_trimmed() -> None:
    assert ranked_state(MemorySpill(), found({"m": Quantile("v")}, SHAPES["ordinary"], keys=2), "s", SMALL) is None
