"""The job of a peer: queries, input files and output folder."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from bench.peers.scoring import Scorer


@dataclass(frozen=True)
class Task:
    data: Path
    out: Path
    queries: tuple[str, ...]
    scorer: Scorer
    threads: int
    loaded: bool = False
    """Whether tables are to be loaded whole before they are joined."""

    def asks(self, *queries: str) -> bool:
        """Whether any of these queries is requested."""
        return any(query in self.queries for query in queries)

    def answer_file(self, query: str) -> str:
        return str(self.out / f"{query}.csv")

    def file(self, *names: str) -> str:
        """The first of these files that exists: some datasets have a smaller alternative."""
        return str(next((path for path in map(self.data.joinpath, names) if path.exists()), self.data / names[0]))

    def months(self, table: str) -> list[str]:
        return [str(path) for path in sorted((self.data / table).glob(f"{table}_*.csv"))]


def scoring(dataset: str, queries: Collection[str]) -> bool:
    """Whether texts are scored for these queries."""
    return dataset in ("books", "movies") and "q5" in queries
