"""Groups that a kernel numbers have the states that Polars computes, in the same order."""

from __future__ import annotations

import random
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from cauce.operators import numbered_groups
from cauce.operators.aggregates import Count, Mean, Sum
from cauce.operators.aggregates.group_by import partial
from cauce.operators.numbered_groups import number_groups

ROWS = 6_000
AGGREGATES = {
    "rows": Count(),
    "filled": Count("x"),
    "total": Sum("x"),
    "money": Sum("amount"),
    "mean": Mean("amount"),
}


def frame_of(seed: int) -> pl.DataFrame:
    rng = random.Random(seed)
    amounts = [None if rng.random() < 0.1 else Decimal(rng.randrange(-(10**9), 10**9)).scaleb(-2) for _ in range(ROWS)]
    return pl.DataFrame(
        {
            "short": [None if rng.random() < 0.01 else rng.choice(["a", "bb", "é", ""]) for _ in range(ROWS)],
            "long": [f"a text of more than twelve bytes {rng.randrange(300)}" for _ in range(ROWS)],
            "number": [rng.randrange(-5, 5) for _ in range(ROWS)],
            "x": [None if rng.random() < 0.1 else rng.randrange(-(10**6), 10**6) for _ in range(ROWS)],
            "amount": pl.Series(amounts, dtype=pl.Decimal(38, 18)),
        }
    )


@pytest.mark.parametrize("keys", [["short"], ["long"], ["number"], ["short", "number"], ["long", "short", "number"]])
def test_states_and_their_order_are_those_of_polars(monkeypatch: pytest.MonkeyPatch, keys: list[str]) -> None:
    frame = frame_of(len(keys))
    made = partial(frame, keys, AGGREGATES)
    monkeypatch.setattr("cauce.operators.aggregates.group_by.number_groups", lambda frame, keys: None)
    expected = partial(frame, keys, AGGREGATES)
    assert made.schema == expected.schema
    assert made.equals(expected)


def test_sums_that_might_exceed_64_bits_are_left_to_polars() -> None:
    frame = pl.DataFrame({"k": [1] * ROWS, "x": [2**62] * ROWS})
    assert partial(frame, ["k"], {"total": Sum("x")})["total"].to_list() == [2**62 * ROWS]


def test_texts_with_equal_hashes_are_not_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbered_groups, "text_hashes", lambda texts: np.zeros(len(texts), np.uint64))
    texts = pl.Series(["a text of more than twelve bytes", "another text of that size"])
    assert number_groups(pl.DataFrame({"k": texts}), ["k"]) is None
