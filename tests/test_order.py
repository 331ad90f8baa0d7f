"""The order in which `./test` runs its tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pytest

from tests.conftest import long_first


@dataclass
class Item:
    number: int
    long: bool = False

    def get_closest_marker(self, name: str) -> object:
        assert name == "long"
        return name if self.long else None


def numbers(items: list[Item], processes: int) -> list[int]:
    return [each.number for each in cast(Any, long_first(cast(Any, items), processes))]


@pytest.mark.parametrize("processes", range(1, 6))
@pytest.mark.parametrize("every", [1, 2, 4, 100])
def test_every_test_is_run_once(every: int, processes: int) -> None:
    for count in range(12):
        items = [Item(number, long=number % every == every - 1) for number in range(count)]
        assert sorted(numbers(items, processes)) == list(range(count))


def test_each_process_starts_with_its_long_tests() -> None:
    items = [Item(number, long=number in (7, 8, 9)) for number in range(10)]
    assert numbers(items, 3) == [7, 0, 1, 8, 2, 3, 9, 4, 5, 6]


def test_one_process_keeps_the_order_of_others() -> None:
    assert numbers([Item(0), Item(1, long=True), Item(2)], 1) == [1, 0, 2]
