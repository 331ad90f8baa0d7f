"""Iterators that are computed ahead yield the same items in the same order, and raise their exceptions in place."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from functools import partial

import pytest

from cauce.scan.files.ahead import ahead


def counted(first: int, count: int) -> Iterator[int]:
    yield from range(first, first + count)


def failing(first: int) -> Iterator[int]:
    yield first
    raise ValueError(f"no more after {first}")


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_items_are_in_the_order_of_their_iterators(threads: int) -> None:
    makes = [partial(counted, 100 * n, n % 4) for n in range(10)]
    assert list(ahead(makes, threads)) == [item for make in makes for item in make()]


def test_an_exception_is_raised_after_the_items_before_it() -> None:
    found = ahead([lambda: counted(0, 2), lambda: failing(5), lambda: counted(9, 1)], 2)
    assert [next(found) for _ in range(3)] == [0, 1, 5]
    with pytest.raises(ValueError, match="no more after 5"):
        next(found)


def test_several_iterators_run_at_once() -> None:
    both = threading.Barrier(2, timeout=60)

    def meeting(item: int) -> Iterator[int]:
        both.wait()
        yield item

    assert list(ahead([lambda: meeting(1), lambda: meeting(2)], 2)) == [1, 2]


def test_threads_end_with_the_iterator() -> None:
    before = threading.active_count()
    found = ahead([lambda: counted(0, 1000), lambda: counted(0, 1000)], 2)
    assert next(found) == 0
    assert isinstance(found, Generator)
    found.close()
    assert threading.active_count() == before
