"""Small generated files of each dataset, with Cauce's answers: made once, when first asked for."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from bench.measure import PR_SET_CHILD_SUBREAPER
from cauce.lab.generators import generate
from tests.e2e.comparing import run

SCALES = {"books": 0.0005, "movies": 0.002, "flights": 0.00005, "coffee": 0.0005}


@dataclass(frozen=True)
class Answered:
    data: Path
    answers: Path
    queries: tuple[str, ...]


@pytest.fixture(scope="session")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Answered]:
    @cache
    def made(dataset: str) -> Answered:
        data, answers = tmp_path_factory.mktemp(f"{dataset}-data"), tmp_path_factory.mktemp(f"{dataset}-answers")
        generate(dataset, data, scale=SCALES[dataset], seed=6)
        found = run(dataset, data)
        for query, content in found.items():
            (answers / f"{query}.csv").write_bytes(content)
        return Answered(data, answers, tuple(sorted(query for query in found if query != "rejects")))

    return made


@pytest.fixture(autouse=True)
def _leave_orphans_alone() -> Iterator[None]:
    """A bench adopts the orphans of what it measures. Tests that come later in this process are not to."""
    yield
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
