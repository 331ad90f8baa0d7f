"""Damage to the files of a run: it completes with the expected bytes, or fails with a message that names the damage and
its location."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cauce.fabric.names import Log
from cauce.lab.chaos.processes import pause, resume
from cauce.runner.run import STILL_S
from cauce.runner.work_dir import NAME
from tests.chaos.conftest import PART_BYTES, QUERIES, Case
from tests.chaos.damage import Frame, JobFiles, cut, files_of, flip, frames, frames_of, standing_still
from tests.chaos.running import ENOUGH_S, Run, answers, done_parts, journal_bytes, journals, kill_all
from tests.cli.running import Outcome, cauce, written
from tests.oracle.api import answer

pytestmark = pytest.mark.slow

SOME_BYTES = 16_000
"""Bytes of journals at which the table of reviews is being read."""


def catch(run: Run, work: Path) -> JobFiles:
    run.until("work was noted", lambda: journal_bytes(work) > SOME_BYTES)
    run.until("a worker held a lease", lambda: bool(run.workers()))
    return files_of(work)


def correct_or_reported(case: Case, outcome: Outcome, damaged: Path) -> None:
    """Checks that the outcome is one of the two that are allowed."""
    if outcome.code == 0:
        assert answers(case.out) == case.wanted
    else:
        check_reported(case, outcome, damaged)


def check_reported(case: Case, outcome: Outcome, damaged: Path) -> None:
    assert outcome.code == 1, outcome.err
    assert f"{damaged} at byte " in outcome.err or f"{damaged}: has " in outcome.err, outcome.err
    assert "run the job again" in outcome.err
    assert "Traceback" not in outcome.err
    assert answers(case.out) == {}


def run_again(case: Case, *more: str) -> None:
    outcome = cauce(case.folder, "run", *case.arguments(*more))
    assert outcome.code == 0, outcome.err
    assert answers(case.out) == case.wanted


def of_journals(job: JobFiles) -> list[Path]:
    return job.journals()


def of_edges(job: JobFiles) -> list[Path]:
    return job.inputs()


def some_frame(logs: list[Path], rng: random.Random) -> Frame:
    found = [frame for log in logs for frame in frames_of(log)]
    assert found, "nothing to break"
    return rng.choice(found)


@pytest.mark.parametrize("logs", [pytest.param(of_journals, marks=pytest.mark.soak), of_edges])
def test_flipped_byte_never_changes_an_answer(case: Case, logs: Callable[[JobFiles], list[Path]]) -> None:
    rng = random.Random(1)
    with Run(case.folder, *case.arguments()) as run:
        job = catch(run, case.work)
        with standing_still(run):
            frame = some_frame(logs(job), rng)
            flip(frame, rng)
        outcome = run.end()
    correct_or_reported(case, outcome, frame.path)


@pytest.mark.parametrize("logs", [of_journals, pytest.param(of_edges, marks=pytest.mark.soak)])
def test_flipped_byte_read_by_a_worker_is_reported(case: Case, logs: Callable[[JobFiles], list[Path]]) -> None:
    rng = random.Random(2)
    with Run(case.folder, *case.arguments()) as run:
        job = catch(run, case.work)
        with standing_still(run) as workers:
            frame = some_frame(logs(job), rng)
            flip(frame, rng)
            kill_all(workers)
        outcome = run.end()
    check_reported(case, outcome, frame.path)
    run_again(case)


def test_flipped_byte_read_by_the_run_is_reported(case: Case) -> None:
    with Run(case.folder, *case.arguments()) as run:
        job = catch(run, case.work)
        reports = job.log(Log("home", "reports-reviews"))
        assert pause(run.process.pid)
        before = len(frames_of(reports))
        # The run has not read the records that are appended from now on.
        run.until("more was reported", lambda: len(frames_of(reports)) > before + 2)
        with standing_still(run):
            frame = max(frames_of(reports), key=lambda frame: (frame.path.stat().st_mtime_ns, frame.start))
            flip(frame, random.Random(3))
        resume(run.process.pid)
        outcome = run.end()
    check_reported(case, outcome, frame.path)
    run_again(case)


@pytest.mark.parametrize("kills", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_segment_truncated_within_a_record_changes_no_answer(case: Case, kills: bool) -> None:
    with Run(case.folder, *case.arguments()) as run:
        job = catch(run, case.work)
        with standing_still(run) as workers:
            last = some_frame(job.inputs(), random.Random(4))
            cut(last.path, (last.start + last.end) // 2)
            if kills:
                kill_all(workers)
        outcome = run.end(STILL_S + ENOUGH_S)
    if outcome.code == 0:
        assert answers(case.out) == case.wanted
    elif " at byte " in outcome.err or ": has " in outcome.err:
        check_reported(case, outcome, last.path)
    else:
        # No byte is wrong, but a record is missing. This is detected when there is no progress.
        assert outcome.code == 1, outcome.err
        assert re.search(rf"log {last.path.parent.name} of job run-[0-9a-f]+ holds \d+ of the \d+ ", outcome.err)
        assert "run the job again" in outcome.err
        assert answers(case.out) == {}
    if outcome.code:
        run_again(case)


def test_truncated_journal_only_repeats_work(case: Case) -> None:
    with Run(case.folder, *case.arguments()) as run:
        job = catch(run, case.work)
        before = done_parts(journals(case.work))
        with standing_still(run) as workers:
            for journal in job.journals():
                for segment in journal.iterdir():
                    whole = frames(segment)
                    cut(segment, (whole[0].start + whole[0].end) // 2)
            assert done_parts(journals(case.work)) < before
            kill_all(workers)
        outcome = run.end()
    assert outcome.code == 0, outcome.err
    assert answers(case.out) == case.wanted


@pytest.mark.parametrize("kills", [pytest.param(False, marks=pytest.mark.soak), True])
def test_deleted_journals_only_repeat_work(case: Case, kills: bool) -> None:
    with Run(case.folder, *case.arguments()) as run:
        job = catch(run, case.work)
        with standing_still(run) as workers:
            deleted = job.journals()
            assert any(frames_of(each) for each in deleted)
            for journal in deleted:
                shutil.rmtree(journal)
            if kills:
                kill_all(workers)
        outcome = run.end()
    assert outcome.code == 0, outcome.err
    assert answers(case.out) == case.wanted


def test_removed_log_files_are_reported(case: Case) -> None:
    with Run(case.folder, *case.arguments()) as run:
        job = catch(run, case.work)
        with standing_still(run):
            shutil.rmtree(job.folder)
        outcome = run.end(STILL_S + ENOUGH_S)
    assert outcome.code == 1, outcome.err
    assert re.search(r"job run-[0-9a-f]+ was deleted", outcome.err), outcome.err
    assert answers(case.out) == {}
    run_again(case)


def copied(case: Case) -> tuple[list[str], Path, int]:
    """Arguments for a run on a copy of the data, the file of its reviews, and the size of that file."""
    shutil.copytree(case.data, case.folder / "data")
    reviews = case.folder / "data/Books_rating.csv"
    return [*case.arguments(), "--data", "data"], reviews, reviews.stat().st_size


def test_input_truncated_while_it_is_split_is_reported(case: Case) -> None:
    arguments, reviews, size = copied(case)
    with Run(case.folder, *arguments) as run:
        lanes = [f"jobs/*/logs/raw-reviews-{lane}/*" for lane in (0, 1)]
        run.until("the reviews were being cut", lambda: all(any(case.work.glob(lane)) for lane in lanes))
        assert pause(run.process.pid)
        raw = [frame for lane in (0, 1) for frame in frames_of(files_of(case.work).log(Log(f"raw-reviews-{lane}")))]
        assert len(raw) * PART_BYTES < size / 2, "most of it had been cut"
        cut(reviews, size * 4 // 5)
        resume(run.process.pid)
        outcome = run.end()
    assert outcome.code == 1, outcome.err
    assert re.search(r"Books_rating.csv (changed|became shorter) while it was read: start again", outcome.err)
    assert answers(case.out) == {}


@pytest.mark.parametrize("share", [0.2, 0.9])
def test_input_truncated_while_its_parts_are_read_is_reported(case: Case, share: float) -> None:
    arguments, reviews, size = copied(case)
    with Run(case.folder, *arguments) as run:
        catch(run, case.work)
        with standing_still(run):
            cut(reviews, int(size * share))
        outcome = run.end()
    assert reviews.stat().st_size < size
    assert "Traceback" not in outcome.err
    if outcome.code == 0:
        assert answers(case.out) in (case.wanted, answer("books", case.folder / "data", QUERIES))
    else:
        assert outcome.code == 1
        assert "Books_rating.csv" in outcome.err
        assert "while it was read: start again" in outcome.err
        assert answers(case.out) == {}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "small", str(disk)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_full_disk_is_reported_and_the_run_resumes_with_free_space(case: Case, small_disk: Path) -> None:
    work = small_disk / NAME
    outcome = cauce(case.folder, "run", *case.arguments("--work", str(small_disk)))
    assert os.statvfs(small_disk).f_bavail < 64, "the disk was not full"
    assert outcome.code == 1, outcome.err
    assert f"no space left for the work files in {work}" in outcome.err or f"no space left in {work}" in outcome.err
    assert "free some" in outcome.err
    assert "Traceback" not in outcome.err
    assert written(case.out) == []
    done = done_parts(journals(work))
    assert done
    subprocess.run(["mount", "-o", "remount,size=200m", str(small_disk)], check=True)
    with Run(case.folder, *case.arguments("--work", str(small_disk))) as run:
        run.until("work was noted", lambda: journal_bytes(work) > 0 and bool(run.workers()))
        assert done <= done_parts(journals(work)), "it did not go on"
        again = run.end()
    assert again.code == 0, again.err
    assert answers(case.out) == case.wanted
    assert not work.exists()
