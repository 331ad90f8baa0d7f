"""Leases between real processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from cauce.errors import FabricFull
from cauce.fabric.files.fabric import FilesFabric
from tests.fabric.children import Child, end_leases_in_a_fork, finish_all, fork_one_that_stays, take, take_all
from tests.flushes import recorded

TASKS = [f"t{number:03d}" for number in range(200)]


def test_a_lease_is_free_at_once_when_its_holder_is_killed(fabric: FilesFabric, child: Callable[[], Child]) -> None:
    fabric.enqueue("j", "q", ["a"])
    holder = child()
    assert holder.ask(take, "j", "q") == "a"
    assert fabric.acquire("j", "q") is None
    holder.kill()
    crashed = time.perf_counter()
    lease = fabric.acquire("j", "q")
    assert time.perf_counter() - crashed < 0.1
    assert lease is not None


def test_concurrent_acquires_give_each_task_to_one_process(fabric: FilesFabric, child: Callable[[], Child]) -> None:
    fabric.enqueue("j", "q", TASKS)
    racers = [child() for _ in range(4)]
    for each in racers:
        each.start(take_all, "j", "q")
    got = [each.answer() for each in racers]
    assert sorted(task for tasks in got for task in tasks) == TASKS  # type: ignore[attr-defined]
    assert fabric.acquire("j", "q") is None


def test_a_race_finishes_each_task_once(fabric: FilesFabric, child: Callable[[], Child]) -> None:
    fabric.enqueue("j", "q", TASKS)
    racers = [child() for _ in range(4)]
    for each in racers:
        each.start(finish_all, "j", "q")
    got = [each.answer() for each in racers]
    assert sorted(taken for tasks in got for taken in tasks) == TASKS  # type: ignore[attr-defined]


def test_concurrent_enqueues_create_one_lease_per_task(fabric: FilesFabric, child: Callable[[], Child]) -> None:
    lists = [TASKS[:150], TASKS[50:], TASKS[::-1], TASKS[::2]]
    enqueueing = [child() for _ in lists]
    for each, tasks in zip(enqueueing, lists, strict=True):
        each.start(FilesFabric.enqueue, "j", "q", tasks)
    for each in enqueueing:
        each.answer()
    assert sorted(finish_all(fabric, "j", "q")) == TASKS


def test_a_forked_child_does_not_keep_its_parents_lease(fabric: FilesFabric, child: Callable[[], Child]) -> None:
    fabric.enqueue("j", "q", ["a"])
    holder = child()
    holder.ask(take, "j", "q")
    heir = psutil.Process(holder.ask(fork_one_that_stays))
    holder.kill()
    try:
        assert fabric.acquire("j", "q") is not None
        assert heir.status() != psutil.STATUS_ZOMBIE
    finally:
        heir.kill()


def test_a_forked_child_cannot_end_its_parents_lease(fabric: FilesFabric, child: Callable[[], Child]) -> None:
    fabric.enqueue("j", "q", ["a"])
    holder = child()
    holder.ask(take, "j", "q")
    holder.ask(end_leases_in_a_fork)
    assert fabric.acquire("j", "q") is None
    holder.kill()
    assert fabric.acquire("j", "q") is not None


def test_an_old_lease_cannot_finish_a_task_of_a_new_job(fabric: FilesFabric, tmp_path: Path) -> None:
    old = FilesFabric(tmp_path)
    fabric.enqueue("j", "q", ["a"])
    lease = old.acquire("j", "q")
    assert lease is not None
    fabric.delete_job("j")
    fabric.create_job("j", b"{}")
    fabric.enqueue("j", "q", ["a"])
    lease.complete()
    assert fabric.acquire("j", "q") is not None
    old.close()


def test_a_finished_task_of_an_old_job_is_free_in_the_new_one(fabric: FilesFabric, tmp_path: Path) -> None:
    other = FilesFabric(tmp_path)
    for _ in range(20):
        fabric.enqueue("j", "q", ["a"])
        lease = other.acquire("j", "q")
        assert lease is not None
        lease.complete()
        fabric.delete_job("j")
        fabric.create_job("j", b"{}")
    other.close()


def test_a_lease_whose_state_cannot_be_written_is_not_held(
    fabric: FilesFabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(fd: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    other = FilesFabric(tmp_path)
    fabric.enqueue("j", "q", ["a"])
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", refuse)
        with pytest.raises(FabricFull):
            fabric.acquire("j", "q")
    lease = other.acquire("j", "q")
    assert lease is not None
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", refuse)
        with pytest.raises(FabricFull):
            lease.complete()
    # Not finished, so still held, and it can be finished later.
    assert fabric.acquire("j", "q") is None
    lease.complete()
    other.close()
    assert fabric.acquire("j", "q") is None


def test_more_leases_than_descriptors_kept(fabric: FilesFabric, tmp_path: Path) -> None:
    other = FilesFabric(tmp_path)
    tasks = [f"t{number:03d}" for number in range(250)]
    fabric.enqueue("j", "q", tasks)
    held = [fabric.acquire("j", "q") for _ in tasks]
    assert all(held)
    for _ in range(3):
        assert other.acquire("j", "q") is None
    fabric.close()
    assert finish_all(other, "j", "q") == tasks
    other.close()


def test_with_power_a_task_of_another_process_is_synced_before_it_is_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crashed, safe = FilesFabric(tmp_path), FilesFabric(tmp_path, durability="power")
    crashed.create_job("j", b"{}")
    crashed.enqueue("j", "q", ["a"])
    seen = recorded(monkeypatch)
    safe.enqueue("j", "q", ["a"])
    assert ("fsync", str(tmp_path / "jobs" / "j" / "leases" / "q")) in seen
    crashed.close()
    safe.close()
