"""When worker crashes quarantine a job, and the message that it fails with."""

from __future__ import annotations

import secrets

import pytest

from cauce.job.crashes import MOST_PROVEN, Cause, Cleared, Crash, Crashes, Scene, Start

ATTEMPTS = 10


def crash(
    crashes: Crashes,
    task: int = 0,
    seq: int = 0,
    *,
    cause: Cause = "",
    run_id: str | None = None,
    snapshot: int = 0,
    shared: bool = False,
) -> Crash:
    """A crash of a start that is made and found now."""
    row, proven = crashes.longest()
    scene = Scene(row, proven, shared=shared)
    made = Crash(
        task, seq, Start(secrets.token_hex(8), run_id, f"part {seq} of task {task}", "", snapshot, scene), cause
    )
    crashes.add(made)
    return made


def verdict(crashes: Crashes) -> str:
    return str(crashes.verdict() or "")


@pytest.fixture
def crashes() -> Crashes:
    return Crashes("j", ATTEMPTS)


def test_a_job_without_crashes_goes_on(crashes: Crashes) -> None:
    assert crashes.verdict() is None


def test_crashes_in_a_row_are_counted_over_all_tasks(crashes: Crashes) -> None:
    for task in range(ATTEMPTS - 1):
        crash(crashes, task)
    assert crashes.verdict() is None
    crash(crashes, ATTEMPTS)
    message = verdict(crashes)
    assert "job j is quarantined: it has killed its workers 10 times without any progress between" in message
    assert "part 0 of task 3 (once)" in message


def test_three_consecutive_memory_crashes_quarantine_the_job(crashes: Crashes) -> None:
    for task in range(2):
        crash(crashes, task, cause="memory")
    assert crashes.verdict() is None
    crash(crashes, 2, cause="memory")
    assert "killed by the kernel for lack of memory (3 times)" in verdict(crashes)
    assert "more memory" in verdict(crashes)


def test_a_crash_beside_steps_of_other_owners_is_not_proven(crashes: Crashes) -> None:
    for _ in range(ATTEMPTS - 1):
        crash(crashes, cause="memory", shared=True)
        assert crashes.verdict() is None
    crash(crashes, cause="memory", shared=True)
    assert "for lack of memory" in verdict(crashes)


def test_a_hang_is_distinguished_from_a_lack_of_memory(crashes: Crashes) -> None:
    for _ in range(3):
        crash(crashes, cause="hung")
    assert "hung: ended by its doctor after it made no progress (3 times)" in verdict(crashes)
    assert "memory" not in verdict(crashes)


def test_three_faults_quarantine_the_job(crashes: Crashes) -> None:
    for _ in range(3):
        assert crashes.verdict() is None
        crash(crashes, cause="fault")
    assert "ended by the kernel for a fault of the program, such as SIGSEGV (3 times)" in verdict(crashes)


def test_workers_that_are_killed_at_the_same_time_count_as_one_crash(crashes: Crashes) -> None:
    for task in range(50):
        start = Start(secrets.token_hex(8), None, f"task {task}")
        crashes.add(Crash(task, 0, start))
    assert crashes.longest() == (1, 0)
    assert crashes.verdict() is None


def test_progress_of_the_job_ends_the_row(crashes: Crashes) -> None:
    for _ in range(5):
        for task in range(2):
            made = crash(crashes, task, seq=secrets.randbelow(1 << 30), cause="memory")
        crashes.clear(Cleared((made.start.which, *(each.start.which for each in crashes.in_a_row()))))
        assert crashes.longest() == (0, 0)
    assert MOST_PROVEN == 10, "ten proven ones in all"
    assert "10 times" in verdict(crashes)


def test_a_storm_of_kills_from_outside_does_not_fail_a_job_that_makes_progress(crashes: Crashes) -> None:
    for number in range(1_000):
        made = crash(crashes, task=number % 8, seq=number)
        crashes.clear(Cleared((made.start.which,)))
    assert crashes.verdict() is None


def test_a_part_that_crashes_its_workers_fails_the_job_despite_progress_of_other_parts(crashes: Crashes) -> None:
    for _ in range(ATTEMPTS - 1):
        made = crash(crashes, task=3, seq=7)
        crashes.clear(Cleared((made.start.which,)))
    assert crashes.verdict() is None
    crash(crashes, task=3, seq=7)
    assert "part 7 of task 3 has killed its worker 10 times" in verdict(crashes)


def test_crashes_of_a_fold_are_counted_since_its_last_snapshot(crashes: Crashes) -> None:
    for snapshot in range(ATTEMPTS * 2):
        made = crash(crashes, snapshot=snapshot)
        crashes.clear(Cleared((made.start.which,)))
    assert crashes.verdict() is None


def test_a_start_whose_worker_survived_does_not_count(crashes: Crashes) -> None:
    for _ in range(ATTEMPTS):
        made = crash(crashes, cause="hung")
        crashes.clear(Cleared((made.start.which,), survived=True))
    assert crashes.verdict() is None


def test_the_order_of_crashes_does_not_matter() -> None:
    one, other = Crashes("j", 3), Crashes("j", 3)
    made = [crash(one, task) for task in range(2)]
    cleared = Cleared((made[0].start.which,))
    one.clear(cleared)
    other.clear(cleared)
    for each in reversed(made):
        other.add(each)
        other.add(each)
    assert one.in_a_row() == other.in_a_row() == made[1:]


def test_crashes_of_an_earlier_pool_are_not_counted() -> None:
    crashes = Crashes("j", 3, "second")
    for _ in range(5):
        crash(crashes, run_id="first")
    assert crashes.verdict() is None


def test_a_limit_of_one_applies_to_unproven_crashes_too() -> None:
    crashes = Crashes("j", 1)
    crash(crashes)
    assert "has killed its worker once" in verdict(crashes)
