"""Sizes of memory, and the parts of a budget."""

from __future__ import annotations

import pytest

from cauce.errors import UsageError
from cauce.process.memory_limit import MemoryBudget, machine_memory, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [("1GB", 10**9), ("512MiB", 512 << 20), ("1.5g", 1_500_000_000), ("2 TB", 2 * 10**12), ("300000000", 300_000_000)],
)
def test_size_is_read(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "much", "-1GB", "1XB", "1GBB", "GB"])
def test_invalid_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--memory"):
        parse_size(text)


def test_default_is_three_quarters_of_the_machine() -> None:
    assert MemoryBudget.of(None, 1).worker_bytes == machine_memory() * 3 // 4


def test_budget_is_divided_among_workers() -> None:
    assert MemoryBudget.of("1GB", 4).worker_bytes == 250_000_000


def test_too_little_for_a_worker_is_refused() -> None:
    with pytest.raises(UsageError, match="at least 640MB"):
        MemoryBudget.of("500MB", 4)


def test_parts_of_a_budget_are_within_it() -> None:
    budget = MemoryBudget.of("1GB", 2)
    assert 0 < budget.fold_bytes < budget.whole_bytes < budget.worker_bytes
    assert budget.collected_bytes + budget.fold_bytes * 6 < budget.worker_bytes
    assert budget.kept_bytes + budget.collected_bytes < budget.worker_bytes
