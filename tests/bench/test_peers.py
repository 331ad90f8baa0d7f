"""Every peer answers every question as Cauce does, all at once and each alone."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.answer_diff import difference
from bench.peers.scoring import Library, kernel
from bench.peers.task import Task
from cauce.datasets import BUILT_IN
from tests.bench.conftest import Answered

PEERS = ["duckdb", "polars", "pandas", "dask", pytest.param("pyspark", marks=pytest.mark.slow)]
QUICK_PEERS = ["duckdb", "polars", "pandas"]


def installed(peer: str) -> None:
    pytest.importorskip(peer, reason=f"{peer} is not installed: ./cauce bench installs it")
    if peer == "pyspark" and shutil.which("java") is None:
        pytest.skip("pyspark needs Java")


def answer(peer: str, dataset: str, task: Task) -> None:
    importlib.import_module(f"bench.peers.{peer}.{dataset}").answer(task)


@pytest.mark.parametrize("dataset", BUILT_IN)
@pytest.mark.parametrize("peer", PEERS)
def test_a_peer_agrees_with_cauce(peer: str, dataset: str, answered: Callable[[str], Answered], tmp_path: Path) -> None:
    installed(peer)
    asked = answered(dataset)
    answer(peer, dataset, Task(asked.data, tmp_path, asked.queries, kernel, 2))
    found = {name: difference(asked.answers / f"{name}.csv", tmp_path / f"{name}.csv") for name in asked.queries}
    assert found == dict.fromkeys(asked.queries, "")


@pytest.mark.parametrize("dataset", BUILT_IN)
@pytest.mark.parametrize("peer", QUICK_PEERS)
def test_a_query_alone_has_the_same_answer(
    peer: str, dataset: str, answered: Callable[[str], Answered], tmp_path: Path
) -> None:
    installed(peer)
    asked = answered(dataset)
    for query in asked.queries:
        out = tmp_path / query
        out.mkdir()
        answer(peer, dataset, Task(asked.data, out, (query,), kernel, 2))
        assert [path.name for path in out.iterdir()] == [f"{query}.csv"]
        assert difference(asked.answers / f"{query}.csv", out / f"{query}.csv") == ""


@pytest.mark.parametrize("peer", ["duckdb", "polars"])
def test_with_the_library_the_answer_is_the_same(
    peer: str, answered: Callable[[str], Answered], tmp_path: Path
) -> None:
    asked = answered("movies")
    answer(peer, "movies", Task(asked.data, tmp_path, ("q5",), Library(1, tmp_path / "notes"), 2))
    assert difference(asked.answers / "q5.csv", tmp_path / "q5.csv") == ""
