"""A plan that arrives in pieces."""

from __future__ import annotations

import pytest

from cauce.runner.plan_pipe import PlanInput, framed


@pytest.mark.parametrize("size", [1, 7, 8, 9, 1000])
def test_a_plan_is_complete_with_its_last_byte(size: int) -> None:
    plan, received = b"plan" * 50, PlanInput()
    data = framed(plan)
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    for piece in pieces:
        assert received.plan is None
        received.add(piece)
    assert received.plan == plan
