"""A set of integers as bits: the rows that Python's set selects."""

from __future__ import annotations

import random

import numpy as np
import pytest

from cauce.scan.integers.key_bits import KeyBits

LOW, HIGH = -(2**63), 2**63 - 1


@pytest.mark.parametrize(
    ("low", "size"), [(0, 1), (0, 8), (-5, 64), (1_000, 1_001), (LOW, 70), (HIGH - 69, 70), (7, 65_536)]
)
def test_the_rows_with_a_key_of_the_set_are_selected_in_order(low: int, size: int) -> None:
    rng = random.Random(low ^ size)
    members = [low, low + size - 1, *(low + rng.randrange(size) for _ in range(size // 3))]
    probed = [LOW, HIGH, 0, *(max(min(low + rng.randint(-9, size + 9), HIGH), LOW) for _ in range(500))]
    found = KeyBits(np.array(members, np.int64), low, size).select(np.array(probed, np.int64))
    known = set(members)
    assert found.tolist() == [row for row, key in enumerate(probed) if key in known]


def test_no_rows_are_selected_of_none() -> None:
    assert KeyBits(np.array([3], np.int64), 3, 1).select(np.empty(0, np.int64)).tolist() == []
