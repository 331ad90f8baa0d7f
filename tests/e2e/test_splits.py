"""However the work is split, reordered or repeated, the answers are the same bytes."""

from __future__ import annotations

import atexit
import random
import shutil
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cauce.datasets import BUILT_IN
from cauce.scan.parts import Part
from tests.e2e.comparing import Way, assert_same, compare, run, small
from tests.e2e.hostile_rows import write_hostile_rows
from tests.oracle.api import answer

pytestmark = pytest.mark.slow

ROWS = {"books": 12, "movies": 10, "flights": 15, "coffee": 30}
LEAST_PART_BYTES = {"books": 400, "movies": 1, "flights": 1, "coffee": 1}
"""A title needs 500 reviews to be in an answer: with parts of a record each, books would take seconds a run."""

PATIENT = settings(print_blob=False)


class Shuffled:
    """The parts of a table in a seeded order, some of them twice or three times."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __call__(self, parts: Iterator[Part]) -> Iterable[Part]:
        rng = random.Random(self.seed)
        mixed = [part for part in parts for _ in range(rng.choice([1, 1, 1, 2, 3]))]
        rng.shuffle(mixed)
        return mixed

    def __repr__(self) -> str:
        return f"Shuffled({self.seed})"


@cache
def folder(dataset: str, seed: int) -> tuple[Path, dict[str, bytes]]:
    """A directory of hostile rows and the oracle's answers to it, made once in a test process."""
    data = Path(mkdtemp(prefix=f"cauce-{dataset}-"))
    atexit.register(shutil.rmtree, data, ignore_errors=True)
    write_hostile_rows(dataset, data, seed, ROWS[dataset])
    return data, answer(dataset, data)


def ways(dataset: str) -> st.SearchStrategy[Way]:
    return st.builds(
        Way,
        part_bytes=st.one_of(
            st.integers(LEAST_PART_BYTES[dataset], LEAST_PART_BYTES[dataset] + 60),
            st.integers(LEAST_PART_BYTES[dataset], 20_000),
        ),
        partitions=st.integers(1, 7),
        threads=st.integers(1, 4),
        reorder=st.one_of(st.none(), st.builds(Shuffled, st.integers(0, 2**32))),
    )


def check(dataset: str, way: Way, seed: int) -> None:
    data, expected = folder(dataset, seed)
    assert_same(run(dataset, data, way=way), expected, f"{dataset}, seed {seed}, {way}")


def property_of(dataset: str) -> Callable[[Way, int], None]:
    def same(way: Way, seed: int) -> None:
        check(dataset, way, seed)

    return given(ways(dataset), st.integers(0, 3))(same)


@pytest.mark.parametrize("dataset", BUILT_IN)
def test_shuffled_parts_give_the_same_bytes(dataset: str) -> None:
    check(dataset, Way(part_bytes=700, partitions=5, threads=1, reorder=Shuffled(3)), 1)


@pytest.mark.parametrize("dataset", BUILT_IN)
def test_any_split_and_order_gives_the_same_bytes(dataset: str) -> None:
    settings(PATIENT, max_examples=8)(property_of(dataset))()


@pytest.mark.parametrize("dataset", BUILT_IN)
def test_every_number_of_partitions_gives_the_same_bytes(dataset: str) -> None:
    for partitions in range(1, 8):
        check(dataset, Way(part_bytes=2_000, partitions=partitions, reorder=Shuffled(partitions)), 0)


@pytest.mark.parametrize("dataset", BUILT_IN)
def test_one_byte_parts_repeated_in_reverse_order(dataset: str) -> None:
    way = Way(LEAST_PART_BYTES[dataset], 3, reorder=lambda parts: [part for part in list(parts)[::-1] for _ in (1, 2)])
    check(dataset, way, 1)


@pytest.mark.soak
@pytest.mark.parametrize("dataset", BUILT_IN)
def test_hostile_rows_of_many_seeds(dataset: str, tmp_path: Path) -> None:
    for seed in range(100, 105):
        data = tmp_path / str(seed)
        write_hostile_rows(dataset, data, seed)
        compare(dataset, data, ways=[small(data)])
