"""Leases between real processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from cauce.errors import FabricFull
from cauce.fabric.files import FilesFabric
from tests.fabric.children import Child, end_leases_in_a_fork, finish_all, fork_one_that_stays, take, take_all

TASKS = [f"t{number:03d}" for number in range(200)]


def test_a_lease_is_free_at_once_when_its_holder_is_killed(fabric: FilesFabric, child: Callable[[], Child]) -> None:
    fabric.offer("j", "q", ["a"])
    holder = child()
    assert holder.ask(take, "j", "q") == ("a", 1)
    assert fabric.take("j", "q") is None
    holder.kill()
    dead = time.perf_counter()
    lease = fabric.take("j", "q")
    assert time.perf_counter() - dead < 0.1
    assert lease is not None
    assert lease.attempt == 2


def test_a_race_gives_each_task_to_one_process(fabric: FilesFabric, child: Callable[[], Child]) -> None:
    fabric.offer("j", "q", TASKS)
    racers = [child() for _ in range(4)]
    for each in racers:
        each.tell(take_all, "j", "q")
    got = [each.answer() for each in racers]
    assert sorted(task for tasks in got for task in tasks) == TASKS  # type: ignore[attr-defined]
    assert fabric.take("j", "q") is None


def test_a_race_finishes_each_task_once(fabric: FilesFabric, child: Callable[[], Child]) -> None:
    fabric.offer("j", "q", TASKS)
    racers = [child() for _ in range(4)]
    for each in racers:
        each.tell(finish_all, "j", "q")
    got = [each.answer() for each in racers]
    assert sorted(taken for tasks in got for taken in tasks) == [(task, 1) for task in TASKS]  # type: ignore[attr-defined]


def test_offers_at_once_give_no_task_two_leases(fabric: FilesFabric, child: Callable[[], Child]) -> None:
    lists = [TASKS[:150], TASKS[50:], TASKS[::-1], TASKS[::2]]
    offering = [child() for _ in lists]
    for each, tasks in zip(offering, lists, strict=True):
        each.tell(FilesFabric.offer, "j", "q", tasks)
    for each in offering:
        each.answer()
    assert sorted(task for task, _ in finish_all(fabric, "j", "q")) == TASKS


def test_a_forked_child_does_not_keep_its_parents_lease(fabric: FilesFabric, child: Callable[[], Child]) -> None:
    fabric.offer("j", "q", ["a"])
    holder = child()
    holder.ask(take, "j", "q")
    heir = psutil.Process(holder.ask(fork_one_that_stays))
    holder.kill()
    try:
        assert fabric.take("j", "q") is not None
        assert heir.status() != psutil.STATUS_ZOMBIE
    finally:
        heir.kill()


def test_a_forked_child_cannot_end_its_parents_lease(fabric: FilesFabric, child: Callable[[], Child]) -> None:
    fabric.offer("j", "q", ["a"])
    holder = child()
    holder.ask(take, "j", "q")
    holder.ask(end_leases_in_a_fork)
    assert fabric.take("j", "q") is None
    holder.kill()
    assert fabric.take("j", "q") is not None


def test_an_old_lease_cannot_finish_a_task_of_a_new_job(fabric: FilesFabric, tmp_path: Path) -> None:
    old = FilesFabric(tmp_path)
    fabric.offer("j", "q", ["a"])
    lease = old.take("j", "q")
    assert lease is not None
    fabric.delete_job("j")
    fabric.create_job("j", b"{}")
    fabric.offer("j", "q", ["a"])
    lease.done()
    assert fabric.take("j", "q") is not None
    old.close()


def test_a_finished_task_of_an_old_job_is_free_in_the_new_one(fabric: FilesFabric, tmp_path: Path) -> None:
    other = FilesFabric(tmp_path)
    for _ in range(20):
        fabric.offer("j", "q", ["a"])
        lease = other.take("j", "q")
        assert lease is not None
        assert lease.attempt == 1
        lease.done()
        fabric.delete_job("j")
        fabric.create_job("j", b"{}")
    other.close()


def test_a_lease_that_cannot_be_noted_is_not_held(
    fabric: FilesFabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(fd: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    other = FilesFabric(tmp_path)
    fabric.offer("j", "q", ["a"])
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", refuse)
        with pytest.raises(FabricFull):
            fabric.take("j", "q")
    lease = other.take("j", "q")
    assert lease is not None
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", refuse)
        with pytest.raises(FabricFull):
            lease.done()
    # Not finished, so still held, and it can be finished later.
    assert fabric.take("j", "q") is None
    lease.done()
    other.close()
    assert fabric.take("j", "q") is None


def test_more_leases_than_descriptors_kept(fabric: FilesFabric, tmp_path: Path) -> None:
    other = FilesFabric(tmp_path)
    tasks = [f"t{number:03d}" for number in range(250)]
    fabric.offer("j", "q", tasks)
    held = [fabric.take("j", "q") for _ in tasks]
    assert all(held)
    for _ in range(3):
        assert other.take("j", "q") is None
    fabric.close()
    assert [task for task, _ in finish_all(other, "j", "q")] == tasks
    other.close()
