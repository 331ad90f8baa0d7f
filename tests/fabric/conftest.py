from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cauce.fabric.files import FilesFabric
from tests.fabric.children import Child, ready


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[FilesFabric]:
    """A fabric with a job `j`."""
    made = FilesFabric(tmp_path)
    made.create_job("j", b"{}")
    yield made
    made.close()


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Callable[[], Child]]:
    """Starts processes on the same folder; the test ends with none of them left."""
    started: list[Child] = []

    def start() -> Child:
        made = Child(tmp_path)
        started.append(made)
        made.ask(ready)
        return made

    yield start
    for each in started:
        each.stop()
