"""A run's own folder within a user's: taken by one run at a time, and nothing beside it is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.errors import UsageError
from cauce.worker.folder import WorkFolder


def test_removing_it_leaves_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    folder = WorkFolder(tmp_path)
    (folder.path / "log").write_text("ours")
    folder.remove()
    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]


def test_it_knows_whether_an_earlier_run_left_something(tmp_path: Path) -> None:
    first = WorkFolder(tmp_path)
    assert first.fresh
    first.close()
    assert not WorkFolder(tmp_path).fresh


def test_two_runs_cannot_have_it(tmp_path: Path) -> None:
    first = WorkFolder(tmp_path)
    with pytest.raises(UsageError, match="another run is already working"):
        WorkFolder(tmp_path)
    first.close()
    WorkFolder(tmp_path).close()


def test_a_folder_that_cannot_be_made_is_refused_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"cannot create the work directory .*Not a directory; .*--out or --work"):
        WorkFolder(tmp_path / "file")
