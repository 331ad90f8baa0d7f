"""Small data with the answers that `cauce run` gives, and one service for all tests that leave it as it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cauce.lab.generators import generate
from tests.e2e.comparing import run
from tests.oracle.api import answer
from tests.service.running import Piece, Running, pieces_of

if TYPE_CHECKING:
    from tests.service.collector import Collector

QUERIES = ["q1", "q2", "q3", "q4"]


@dataclass(frozen=True)
class Case:
    data: Path
    pieces: list[Piece]
    wanted: dict[str, bytes]
    """The oracle's answers, and the rejects."""

    def written(self, form: str) -> dict[str, bytes]:
        """The files that `cauce run --format …` writes."""
        return run("books", self.data, QUERIES, form=form)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    data = tmp_path_factory.mktemp("books")
    generate("books", data, scale=0.002, seed=5)
    with (data / "books_data.csv").open("a", encoding="utf-8") as file:
        # Two rejects: a list that is none, and too few cells.
        file.write("Broken,,nobody,,,,,1999,,\"['X']\",\nshort\n")
    return Case(data, pieces_of("books", data, 2**18, QUERIES), answer("books", data, QUERIES))


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Two gateways and two workers on one port."""
    with Running(tmp_path_factory.mktemp("service"), "serve", "--workers", "2", "--gateways", "2") as running:
        yield running
    assert running.process.returncode == 0
    assert not running.events("internal error"), running.log_text()


@pytest.fixture(scope="package")
def done(service: Running, case: Case) -> str:
    """A job that has ended well."""
    assert service.create("done", queries=QUERIES).status == 201
    service.upload("done", case.pieces)
    service.wait_done("done")
    return "done"


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """All processes that the test starts export to it."""
    from tests.service.collector import collecting

    with collecting() as server:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "200")
        yield server
