"""Generated data of several seeds: every answer is the oracle's, byte for byte, and each query alone gives the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.datasets import BUILT_IN, load
from cauce.lab.generators import generate
from tests.e2e.comparing import WHOLE, Way, assert_same, compare, run
from tests.oracle.api import answer

TINY = {"books": 0.0003, "movies": 0.001, "flights": 0.00002, "coffee": 0.0002}
SMALL = {"books": 0.001, "movies": 0.003, "flights": 0.0001, "coffee": 0.003}


@pytest.mark.parametrize("dataset", BUILT_IN)
def test_tiny_data(dataset: str, tmp_path: Path) -> None:
    generate(dataset, tmp_path, scale=TINY[dataset], seed=1)
    compare(dataset, tmp_path, ways=[Way(part_bytes=50_000, partitions=3)])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, pytest.param(3, marks=pytest.mark.soak)])
@pytest.mark.parametrize("dataset", BUILT_IN)
def test_small_data(dataset: str, seed: int, tmp_path: Path) -> None:
    generate(dataset, tmp_path, scale=SMALL[dataset], seed=seed)
    found = compare(dataset, tmp_path, ways=[WHOLE, Way(part_bytes=100_000, partitions=5)])
    assert all(found[query].count(b"\n") > 1 for query in found if (dataset, query) != ("books", "q2"))


@pytest.mark.parametrize("dataset", ["books", "movies"])
def test_textblob_scorer(dataset: str, tmp_path: Path) -> None:
    generate(dataset, tmp_path, scale=TINY[dataset] / 2, seed=4)
    compare(dataset, tmp_path, ["q5"], sentiment="textblob", ways=[WHOLE])


@pytest.mark.slow
@pytest.mark.parametrize("dataset", BUILT_IN)
def test_each_query_alone_gives_the_same_bytes(dataset: str, tmp_path: Path) -> None:
    generate(dataset, tmp_path, scale=TINY[dataset], seed=5)
    together = run(dataset, tmp_path)
    for query in load(dataset).queries:
        alone = run(dataset, tmp_path, [query])
        assert alone[query] == together[query]
        assert_same(alone, answer(dataset, tmp_path, [query]), f"{dataset}.{query} alone")
