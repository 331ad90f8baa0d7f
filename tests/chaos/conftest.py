"""Data for a run of several seconds, and the oracle's answers to it, generated once for all tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from cauce.lab.generators import generate
from tests.oracle.api import answer

QUERIES = ("q1", "q2", "q3", "q4")
SCALE = 0.02
PART_BYTES = 100_000


@dataclass(frozen=True)
class Case:
    """The arguments of a run of about 600 parts, its directories, and the expected answers."""

    folder: Path
    data: Path
    wanted: dict[str, bytes]

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def work(self) -> Path:
        return self.out / ".cauce-work"

    def arguments(self, *more: str, out: str = "out") -> list[str]:
        given = ["books", "--data", str(self.data), "--out", out, "--queries", ",".join(QUERIES)]
        return [*given, "--workers", "2", "--part-bytes", str(PART_BYTES), *more]


@pytest.fixture(scope="session")
def _books(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    data = tmp_path_factory.mktemp("books")
    generate("books", data, scale=SCALE, seed=11)
    return data, answer("books", data, QUERIES)


@pytest.fixture
def case(_books: tuple[Path, dict[str, bytes]], tmp_path: Path) -> Case:
    data, wanted = _books
    return Case(tmp_path, data, wanted)
