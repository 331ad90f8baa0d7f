"""Two commands that write answers to one place: the second is refused, and the first ends as if it were alone."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cauce.lab.generators import generate
from cauce.runner.output_dir import DIRECTORY_LOCK
from tests.cli.other_user import openable_by_nobody
from tests.cli.running import cauce, written

ENOUGH_S = 120.0


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("books")
    generate("books", folder, scale=0.002, seed=5)
    return folder


@contextmanager
def paused_run(data: Path, out: Path, work: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run that stands still in the midst of its work."""
    command = [sys.executable, "-m", "cauce", "run", "books", "--data", str(data), "--out", str(out)]
    process = subprocess.Popen([*command, "--work", str(work), "--workers", "1"], stdout=subprocess.DEVNULL)
    try:
        due = time.monotonic() + ENOUGH_S
        while not list(work.glob(".cauce-work/jobs/*/logs/*/*")):
            assert process.poll() is None
            assert time.monotonic() < due
            time.sleep(0.002)
        process.send_signal(signal.SIGSTOP)
        yield process
    finally:
        process.kill()
        process.wait()


def finish(process: subprocess.Popen[bytes]) -> int:
    process.send_signal(signal.SIGCONT)
    return process.wait(ENOUGH_S)


def test_a_second_run_into_one_directory_is_refused_and_the_first_completes(data: Path, tmp_path: Path) -> None:
    alone = cauce(tmp_path, "run", "books", "--data", str(data), "--out", "alone")
    assert alone.code == 0
    with paused_run(data, tmp_path / "out", tmp_path / "first") as first:
        second = cauce(tmp_path, "run", "books", "--data", str(data), "--out", "out", "--work", "second")
        assert second.code == 2
        told = " ".join(second.err.split())
        assert f"another command is writing to out: cauce run books --data {data}" in told
        assert f"(pid {first.pid}); wait until it ends, or choose another place with --out" in told
        assert not (tmp_path / "second" / ".cauce-work").exists()
        assert finish(first) == 0
    assert written(tmp_path / "out") == written(tmp_path / "alone")
    for name in written(tmp_path / "out"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()


def test_the_directory_is_free_again_after_a_kill(data: Path, tmp_path: Path) -> None:
    with paused_run(data, tmp_path / "out", tmp_path / "work") as killed:
        killed.kill()
        killed.wait()
    assert (tmp_path / "out" / DIRECTORY_LOCK).exists()
    assert cauce(tmp_path, "run", "books", "--data", str(data), "--out", "out").code == 0
    assert [name for name in written(tmp_path / "out") if name.startswith(".")] == []


def test_a_refused_run_leaves_the_directory_that_another_one_made(data: Path, tmp_path: Path) -> None:
    with paused_run(data, tmp_path / "new" / "out", tmp_path / "work") as first:
        assert cauce(tmp_path, "run", "nothing", "--data", str(data), "--out", "new/out").code == 2
        assert finish(first) == 0
    assert (tmp_path / "new" / "out" / "q1.csv").exists()


def test_the_work_folder_of_a_run_is_private(data: Path) -> None:
    # Not below pytest's own directory, which no other user can enter.
    place = Path(tempfile.mkdtemp(prefix="cauce-private-"))
    place.chmod(0o755)
    before = os.umask(0o022)
    try:
        with paused_run(data, place / "out", place / "work"):
            made = [path for path in (place / "work").rglob("*") if path != place / "work"]
            assert {path.lstat().st_mode & 0o777 for path in made if path.is_dir()} == {0o700}
            assert {path.lstat().st_mode & 0o777 for path in made if not path.is_dir()} == {0o600}
            if os.geteuid() == 0:
                assert openable_by_nobody([str(place / "work")]) == [str(place / "work")]
                assert openable_by_nobody([str(path) for path in made]) == []
    finally:
        os.umask(before)
        shutil.rmtree(place)


def test_answers_have_the_usual_permissions(data: Path, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        assert cauce(tmp_path, "run", "books", "--data", str(data), "--out", "out").code == 0
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "out").iterdir()} == {0o644}
