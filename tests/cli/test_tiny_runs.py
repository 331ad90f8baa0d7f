"""Runs over tiny files: without workers unless an option asks for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.cli.options import FileOptions, QueryOptions, RunOptions
from cauce.cli.run import run_command
from cauce.errors import TooManyRejects, UsageError
from cauce.runner.work_dir import NAME
from tests.cli.running import small_books
from tests.oracle.api import answer


class Started(Exception):
    """A pool of workers was made."""


@pytest.fixture(autouse=True)
def _no_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object, **named: object) -> None:
        raise Started

    monkeypatch.setattr("cauce.cli.run.WorkerPool", refuse)
    # This process has threads, and forks no worker.
    monkeypatch.setattr("cauce.cli.run.one_thread_each", lambda: None)


def run(folder: Path, options: RunOptions | None = None, max_rejects: str = "") -> Path:
    small_books(folder / "data")
    files = FileOptions(data=folder / "data", out=folder / "out", max_rejects=max_rejects)
    run_command(files, QueryOptions(dataset="books", queries="q1,q3"), options or RunOptions())
    return folder / "out"


def test_a_tiny_run_starts_no_worker(tmp_path: Path) -> None:
    out = run(tmp_path)
    wanted = answer("books", tmp_path / "data", ["q1", "q3"])
    assert {name: (out / f"{name}.csv").read_bytes() for name in ("q1", "q3")} == {
        name: wanted[name] for name in ("q1", "q3")
    }
    assert not (out / NAME).exists()


@pytest.mark.parametrize(
    "options",
    [
        RunOptions(workers=1),
        RunOptions(power_safe=True),
        RunOptions(part_bytes=100),
        RunOptions(attempts=1),
        RunOptions(journal=False),
    ],
)
def test_an_option_of_workers_starts_them(tmp_path: Path, options: RunOptions) -> None:
    with pytest.raises(Started):
        run(tmp_path, options)


def test_a_directory_for_work_starts_workers(tmp_path: Path) -> None:
    with pytest.raises(Started):
        run(tmp_path, RunOptions(work=tmp_path))


def test_a_run_with_workers_is_resumed_with_workers(tmp_path: Path) -> None:
    (tmp_path / "out" / NAME).mkdir(parents=True)
    with pytest.raises((Started, UsageError)):
        run(tmp_path)


def test_too_many_rejects_remove_the_answers(tmp_path: Path) -> None:
    with pytest.raises(TooManyRejects):
        run(tmp_path, max_rejects="0")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["rejects.csv"]


def test_wrong_files_leave_no_directory(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    files = FileOptions(data=tmp_path / "data", out=tmp_path / "deep" / "out")
    with pytest.raises(UsageError):
        run_command(files, QueryOptions(dataset="books"), RunOptions())
    assert not (tmp_path / "deep").exists()
