from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.hostile_rows import write_hostile_rows
from tests.gateway.serving import WORLDS, Sent, World, cut


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    made = WORLDS[request.param](tmp_path / "root")
    yield made
    made.close()


@pytest.fixture
def lone(tmp_path: Path) -> Iterator[World]:
    """A world in memory, where the fabric does not matter."""
    made = WORLDS["memory"](tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="session")
def books(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("books")
    write_hostile_rows("books", folder, 3, 60)
    return folder


@pytest.fixture(scope="session")
def sent(books: Path) -> Sent:
    """The books dataset, split into parts."""
    return cut("books", books, 900, queries=["q1", "q2", "q3", "q4"])


@pytest.fixture(scope="session")
def wanted(books: Path) -> dict[str, bytes]:
    from tests.oracle.api import answer

    return answer("books", books, ["q1", "q2", "q3", "q4"])
